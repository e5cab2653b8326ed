// Package judge scores completions by rubrics: a judge model reads each row and
// gives one short verdict, and statistics say what the verdicts amount to.
//
// A [Rubric] says what a judge is asked and how its answer is read; built-in
// ones lie in rubrics/ as files like a user's own. [Rubric.Read] turns an answer
// into a [Reading] that is scored, truncated, refused, unparsable or failed.
// Only a scored one carries a verdict, and a verdict that had to be guessed is
// unparsable: a second question costs less than a wrong score. [Summarize] turns
// readings into means with intervals, beside the counts of every status.
package judge

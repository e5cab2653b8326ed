package judge

// DefaultRefusal are the expressions of an answer in which the judge refuses,
// where a rubric gives none. They look at the beginning alone: an answer that
// speaks of somebody else's refusal does not begin with its own.
var DefaultRefusal = []string{
	`(?i)^(i'm|i am|we're)?\s*(very |so |really |truly )?(sorry|afraid)\b[^.!?\n]{0,80}\b(can't|cannot|can not|won't|will not|unable|not able|not comfortable)\b`,
	`(?i)^(i'm |i am )?(very |so )?sorry\b[,.]?\s*$`,
	`(?i)^(unfortunately, |apologies, (but )?|as an ai[^,.\n]{0,60}, |regrettably, )?i\s*('m| am| must| have to| need to| will have to)?\s*(can't|cannot|can not|won't|will not|unable|not able|decline|refuse|not comfortable|not going to|respectfully decline|politely decline)\b`,
	`(?i)^(i('d| would)? prefer not to|i('d| would) rather not)\b`,
	`(?i)^(this|that|the|your) (request|content|material|question|task)\b[^.!?\n]{0,60}\b(violates|is against|goes against|is not something i can)\b`,
}

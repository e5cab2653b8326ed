package judge

// DefaultRefusal are the expressions of an answer in which the judge refuses,
// where a rubric gives none. They look at the beginning alone: an answer that
// speaks of somebody else's refusal does not begin with its own.
var DefaultRefusal = []string{
	`(?i)^(i'm|i am|we're)?\s*(very |so |really |truly )?(sorry|afraid)\b[^.!?\n]{0,80}\b(can't|cannot|can not|won't|will not|unable|not able|not comfortable)\b`,
	`(?i)^(i'm |i am )?(very |so )?sorry\b[,.]?\s*$`,
	`(?i)^(unfortunately, |apologies, (but )?|as an ai[^,.\n]{0,60}, |regrettably, )?i\s*('m| am| must| have to| need to| will have to| would)?\s*(respectfully |politely )?(decline|refuse|not comfortable)\b`,
	`(?i)^(unfortunately, |apologies, (but )?|as an ai[^,.\n]{0,60}, |regrettably, )?i\s*('m| am)?\s*(can't|cannot|can not|won't|will not|unable to|not able to|not going to)\b[^.!?\n]{0,40}\b(assist|help|judge|rate|score|grade|evaluate|assess|mark|comply|answer|respond|provide|give|engage|continue|participate|discuss|fulfil|fulfill|complete|do|produce|generate|review|process|analyse|analyze|proceed|offer)\b`,
	`(?i)^(i('d| would)? prefer not to|i('d| would) rather not)\b`,
	`(?i)^(this|that|the|your) (request|content|material|question|task)\b[^.!?\n]{0,60}\b(violates|is against|goes against|is not something i can)\b`,
}

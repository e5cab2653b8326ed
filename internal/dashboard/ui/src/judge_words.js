// How verdicts read.
import { NONE, int, percent } from "./format.js";

export const statuses = ["scored", "truncated", "refused", "unparsable", "failed"];

// tone is the colour of a verdict's status.
export const tone = (status) => ({ scored: "good", pending: "calm", failed: "bad" })[status] ?? "slow";

// score is one on a scale, with digits as the scale has them.
export function score(n, scale) {
	if (typeof n !== "number" || !Number.isFinite(n)) return NONE;
	const span = scale ? scale[1] - scale[0] : 100;
	return String(Number(n.toFixed(span >= 50 ? 1 : span >= 5 ? 2 : 3))).replace("-", "−");
}

// interval is the 95 % interval of an estimate, in words.
export function interval(e, write) {
	return e?.low == null || e?.high == null ? "" : `${write(e.low)} to ${write(e.high)}`;
}

export const share = (e) => (e ? percent(e.value) : NONE);

// plain is a number between -1 and 1 to two digits.
export const plain = (n) => (typeof n === "number" ? n.toFixed(2).replace("-", "−") : NONE);

export const total = (counts) => statuses.reduce((sum, s) => sum + (counts?.[s] ?? 0), 0);

// lacking says how many verdicts are no score, by status; "" where all are.
export function lacking(counts) {
	return statuses.slice(1).filter((s) => counts?.[s] > 0).map((s) => `${int(counts[s])} ${s}`).join(" · ");
}

export const judgeName = (j) => `${j.rubric} by ${j.model}`;

// callOf is the number of the first call in which a judge is asked about a row.
export function callOf(page, row, judge) {
	const orders = page.swap ? 2 : 1;
	return (row * page.judges.length * orders + judge * orders) * page.repeats;
}

// parts cuts a scale into as many equal parts as there are counts.
export function partsOf(scale, counts) {
	const width = (scale[1] - scale[0]) / counts.length;
	return counts.map((n, i) => ({ n, from: round(scale[0] + i * width), to: round(scale[0] + (i + 1) * width), last: i === counts.length - 1 }));
}

const round = (x) => Number(x.toPrecision(12));

// valueText is a field of a row as text.
export const valueText = (v) => (typeof v === "string" ? v : v === undefined || v === null ? "" : JSON.stringify(v, null, 1));

// What the charts draw: counts of steps, gathered into at most about 150 bins
// and told as a minute's worth. A bin of which nothing is known is null.

export const NAMES = ["calls", "refused", "output_tokens", "usd", "in_flight", "queued"];
const summed = new Set(["calls", "refused", "output_tokens", "usd"]);
const WIDTHS = [1, 2, 4, 5, 10, 20, 30, 60, 120, 300, 600];
const BINS = 150;

// width is that of a bin, in seconds, for so many minutes of steps of step_s.
export function width(minutes, step) {
	return WIDTHS.find((w) => w >= step && w % step === 0 && (minutes * 60) / w <= BINS) ?? 600;
}

// YOUNG is the least that an axis spans, in seconds.
const YOUNG = 60;

// bins gathers a series of api/series and the points that came after it. Where
// the fleet began (ms; 0: not known) within these minutes, the axis begins with
// it: its first minutes would be a spike at the end of nothing.
export function bins(series, points, minutes, now, began = 0) {
	const step = series.step_s;
	const w = width(minutes, step);
	const first = Math.floor((now / 1000 - minutes * 60) / w) * w;
	const n = Math.floor((now / 1000 - first) / w) + 1;
	const t = Array.from({ length: n }, (_, i) => first + i * w);
	const sums = {};
	const counts = {};
	for (const name of NAMES) {
		sums[name] = new Float64Array(n);
		counts[name] = new Uint32Array(n);
	}
	const add = (at, name, v) => {
		const i = Math.floor((at - first) / w);
		if (v === null || v === undefined || i < 0 || i >= n) return;
		sums[name][i] += v;
		counts[name][i]++;
	};
	for (const name of NAMES) series.t.forEach((at, i) => add(at, name, series[name]?.[i]));
	const end = series.t.at(-1) ?? 0;
	for (const p of points) if (p.t > end) for (const name of NAMES) add(p.t, name, p[name]);
	const values = {};
	for (const name of NAMES) {
		const scale = summed.has(name) ? 60 / step : 1;
		values[name] = Array.from(sums[name], (s, i) => (counts[name][i] ? (s / counts[name][i]) * scale : null));
	}
	const from = Math.max(t[0], Math.min(began / 1000, now / 1000 - YOUNG));
	return { t, values, range: [from, now / 1000] };
}

import { compact, int, percent, plural } from "./format.js";
import { interval, partsOf, score, statuses } from "./judge_words.js";

const across = (x) => `${(100 * Math.max(0, Math.min(1, x))).toFixed(2)}%`;
const at = (v, scale) => (v - scale[0]) / (scale[1] - scale[0]);

// Histogram is how many rows have which score; a press on a bar chooses its
// verdicts. Below it stand the quantiles, on the same scale.
export function Histogram({ cell, scale, name, choose }) {
	const parts = partsOf(scale, cell.histogram);
	const most = Math.max(1, ...cell.histogram);
	return (
		<div class="histogram">
			<div class="bars" role="group" aria-label={`Rows by score, ${name}`}>
				{parts.map((p) => {
					const words = `${score(p.from, scale)} to ${p.last ? "" : "below "}${score(p.to, scale)}: ${plural(p.n, "row")}`;
					return (
						<button key={p.from} type="button" class="bar" disabled={p.n === 0} title={words} aria-label={words} onClick={() => choose(p)}>
							<i style={{ height: p.n > 0 ? `max(2px, ${across(p.n / most)})` : "0" }} />
						</button>
					);
				})}
			</div>
			{cell.quantiles && <Box q={cell.quantiles} mean={cell.mean} scale={scale} />}
			<div class="axis faint" aria-hidden="true"><span>{score(scale[0], scale)}</span><span>{score((scale[0] + scale[1]) / 2, scale)}</span><span>{score(scale[1], scale)}</span></div>
			<p class="faint small-print most">highest bar {int(most)} rows</p>
		</div>
	);
}

// Box is quantiles: a line from the 5th to the 95th of a hundred, a box about the
// middle half, the median, and the mean as a point.
function Box({ q, mean, scale }) {
	const words = `5 % ${score(q.p5, scale)}, 25 % ${score(q.p25, scale)}, median ${score(q.p50, scale)}, 75 % ${score(q.p75, scale)}, 95 % ${score(q.p95, scale)}`;
	return (
		<div class="box" role="img" aria-label={`Quantiles: ${words}`} title={words}>
			<i class="whisker" style={{ left: across(at(q.p5, scale)), width: across(at(q.p95, scale) - at(q.p5, scale)) }} />
			<i class="middle" style={{ left: across(at(q.p25, scale)), width: across(at(q.p75, scale) - at(q.p25, scale)) }} />
			<i class="median" style={{ left: across(at(q.p50, scale)) }} />
			{mean && <i class="point" style={{ left: across(at(mean.value, scale)) }} />}
		</div>
	);
}

// Quantiles are the same in figures.
export function Quantiles({ q, scale }) {
	return (
		<dl class="quantiles">
			{[["min", q.min], ["5 %", q.p5], ["25 %", q.p25], ["median", q.p50], ["75 %", q.p75], ["95 %", q.p95], ["max", q.max]].map(([name, v]) => (
				<div key={name}><dt>{name}</dt><dd>{score(v, scale)}</dd></div>
			))}
		</dl>
	);
}

// Labels are how many verdicts have which label.
export function Labels({ labels, choose }) {
	return (
		<ul class="label-bars">
			{labels.map((l) => (
				<li key={l.label}>
					<button type="button" class="quiet name text" onClick={() => choose(l.label)} title={`Verdicts ${l.label}`}>{l.label}</button>
					<span class="track"><i class="fill" style={{ width: across(l.share?.value ?? 0) }} /></span>
					<span class="num"><b>{l.share ? percent(l.share.value) : "–"}</b></span>
					<span class="faint num">{interval(l.share, percent)}</span>
					<span class="num">{compact(l.n)}</span>
				</li>
			))}
		</ul>
	);
}

// Statuses is how verdicts ended, as a bar and in numbers.
export function Statuses({ counts, choose }) {
	const all = statuses.reduce((sum, s) => sum + counts[s], 0);
	return (
		<div class="by-status">
			<div class="progress" aria-hidden="true">
				{statuses.map((s) => counts[s] > 0 && <i key={s} class={s} style={{ width: across(counts[s] / all) }} />)}
			</div>
			<ul class="legend">
				{statuses.map((s) => (
					<li key={s}><button type="button" class="quiet" disabled={counts[s] === 0} onClick={() => choose(s)}><i class={`swatch ${s}`} aria-hidden="true" />{s} <b>{int(counts[s])}</b></button></li>
				))}
			</ul>
		</div>
	);
}

// Dot is a mean with its interval on a scale.
export function Dot({ e, scale, write }) {
	if (!e) return <span class="dot-line unknown" />;
	const ends = e.low == null ? null : [at(e.low, scale), at(e.high, scale)];
	return (
		<span class="dot-line" title={`${write(e.value)}${ends ? ` (${interval(e, write)})` : ""}`}>
			{ends && <i class="reach" style={{ left: across(ends[0]), width: across(ends[1] - ends[0]) }} />}
			<i class="point" style={{ left: across(at(e.value, scale)) }} />
		</span>
	);
}

// Spark is a small histogram.
export function Spark({ counts }) {
	if (!counts) return null;
	const most = Math.max(1, ...counts);
	const path = counts.map((n, i) => (n > 0 ? `M${i * 4} 16v${-Math.max(1, Math.round((15 * n) / most))}h3v${Math.max(1, Math.round((15 * n) / most))}z` : "")).join("");
	return <svg class="spark" viewBox={`0 0 ${counts.length * 4} 16`} width={counts.length * 4} height="16" aria-hidden="true"><path d={path} /></svg>;
}

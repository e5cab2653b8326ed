import { useEffect, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { dark } from "./theme.js";
import { NONE } from "./format.js";

const HEIGHT = 112;
const sync = uPlot.sync("series");
const clocks = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const seconds = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });

// Chart draws lines over time. Where a value is null there is no line: a gap is
// a time of which nothing was recorded. lines: {key, label, ink}; a line alone
// needs no label.
export function Chart({ title, unit, lines, t, range, values, format }) {
	const box = useRef(null);
	const plot = useRef(null);
	const [at, setAt] = useState(null);
	const shape = lines.map((l) => l.key).join();
	useEffect(() => {
		const u = new uPlot(options(box.current.clientWidth, lines, format, setAt), blank(lines), box.current);
		plot.current = u;
		const resized = new ResizeObserver(([e]) => u.setSize({ width: Math.max(80, Math.floor(e.contentRect.width)), height: HEIGHT }));
		resized.observe(box.current);
		return () => {
			resized.disconnect();
			u.destroy();
			plot.current = null;
		};
	}, [dark.value, shape]);
	useEffect(() => {
		const u = plot.current;
		if (!u) return;
		u.batch(() => {
			u.setData([t, ...lines.map((l) => values[l.key])], false);
			u.setScale("x", { min: range[0], max: range[1] });
		});
	}, [t, range, values, dark.value, shape]);
	const empty = !lines.some((l) => values[l.key].some((v) => v !== null));
	return (
		<figure class="chart" aria-label={spoken(title, unit, lines, values, format)}>
			<figcaption>
				<h3>{title} <span class="unit">{unit}</span></h3>
				<Legend lines={lines} values={values} t={t} at={at} format={format} />
			</figcaption>
			<div class="plot" ref={box}>{empty && <p class="no-data">no data yet</p>}</div>
		</figure>
	);
}

const blank = (lines) => [[], ...lines.map(() => [])];

// Legend names the lines and says their value under the cursor, or the last one.
function Legend({ lines, values, t, at, format }) {
	const i = at !== null && at < t.length ? at : null;
	return (
		<div class="legend">
			{i !== null && <span class="when">{seconds.format(t[i] * 1000)}</span>}
			{lines.map((l) => (
				<span key={l.key} class="key">
					{l.label && <><i class={`swatch ${l.ink}`} aria-hidden="true" />{l.label} </>}<b>{show(i === null ? last(values[l.key]) : values[l.key][i], format)}</b>
				</span>
			))}
		</div>
	);
}

const show = (v, format) => (v === null || v === undefined ? NONE : format(v));

function last(values) {
	for (let i = values.length - 1; i >= 0 && i >= values.length - 3; i--) {
		if (values[i] !== null) return values[i];
	}
	return null;
}

function spoken(title, unit, lines, values, format) {
	return `${title}, ${unit}: ${lines.map((l) => `${l.label ?? "now"} ${show(last(values[l.key]), format)}`).join(", ")}`;
}

// ink is a colour of the style as a canvas takes it: the one of light or dark.
function ink(name) {
	const probe = document.body.appendChild(document.createElement("i"));
	probe.style.color = `var(--${name})`;
	const colour = getComputedStyle(probe).color;
	probe.remove();
	return colour;
}

const font = () => getComputedStyle(document.documentElement).getPropertyValue("--font").trim();

function options(width, lines, format, setAt) {
	const text = { stroke: ink("ink-3"), font: `11px ${font()}`, ticks: { show: false } };
	const rule = ink("line-2");
	return {
		width: Math.max(80, width),
		height: HEIGHT,
		padding: [8, 4, 0, 0],
		legend: { show: false },
		cursor: { sync: { key: sync.key, setSeries: false }, x: true, y: false, drag: { x: false, y: false }, points: { size: 5 } },
		hooks: { setCursor: [(u) => setAt(u.cursor.idx ?? null)] },
		scales: { x: { time: true, auto: false }, y: { range: (_, min, max) => [0, max > 0 ? max * 1.08 : 1] } },
		axes: [
			{ ...text, size: 22, gap: 6, space: 70, grid: { show: false }, values: (_, ticks) => ticks.map((s) => clocks.format(s * 1000)), incrs: [60, 120, 300, 600, 1800, 3600, 7200, 14400, 21600] },
			{ ...text, size: (_, labels) => 10 + Math.max(26, ...(labels ?? []).map((l) => 6.2 * l.length)), gap: 6, space: 32, grid: { stroke: (u) => (known(u) ? rule : "transparent"), width: 1 }, values: (u, ticks) => (known(u) ? ticks.map((v) => format(v)) : []) },
		],
		series: [{}, ...lines.map((l) => series(l))],
	};
}

// known says whether there is any value: without one an axis has no numbers.
const known = (u) => u.data.slice(1).some((values) => values.some((v) => v !== null));

function series(l) {
	const colour = ink(l.ink);
	return {
		stroke: colour,
		width: 1.5,
		fill: `color-mix(in srgb, ${colour} 10%, transparent)`,
		spanGaps: false,
		points: { show: false, filter: alone, size: 4, fill: colour, stroke: colour },
	};
}

// alone are the values between two gaps, which no line would show.
function alone(u, si) {
	const data = u.data[si];
	const marks = [];
	for (let i = 0; i < data.length; i++) {
		if (data[i] !== null && (data[i - 1] ?? null) === null && (data[i + 1] ?? null) === null) marks.push(i);
	}
	return marks.length ? marks : null;
}

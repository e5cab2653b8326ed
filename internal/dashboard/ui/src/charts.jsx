import { useEffect, useMemo, useState } from "preact/hooks";
import { signal } from "@preact/signals";
import { now, points, state } from "./live.js";
import { useFetched } from "./fetched.js";
import { bins } from "./series.js";
import { Chart } from "./chart.jsx";
import { amount, rate, usd } from "./format.js";

const spans = [[10, "10 min"], [30, "30 min"], [120, "2 h"], [1440, "24 h"]];

const minutes = signal(10);

const charts = [
	{ title: "Answered", unit: "calls a minute", format: rate, lines: [{ key: "calls", ink: "c1" }] },
	{ title: "Output", unit: "tokens a minute", format: rate, lines: [{ key: "output_tokens", ink: "c2" }] },
	{ title: "Spend", unit: "US$ a minute", format: usd, lines: [{ key: "usd", ink: "c3" }] },
	{ title: "In flight", unit: "calls", format: amount, lines: [{ key: "in_flight", ink: "c1" }] },
	{ title: "Waiting", unit: "calls", format: amount, lines: [{ key: "queued", ink: "c5" }] },
	{ title: "Refused", unit: "attempts a minute", format: rate, lines: [{ key: "refused", ink: "c4" }] },
];

// Up to 10 minutes the points of the stream keep the charts going; longer ones
// are asked for anew, now and then.
const every = { 10: 20, 30: 10, 120: 20, 1440: 60 };

export function Charts() {
	const m = minutes.value;
	const { data, error } = useFetched(`api/series?minutes=${m}`, every[m]);
	const tick = useTick();
	const began = Date.parse(state.value?.began ?? "") || 0;
	const drawn = useMemo(() => data && bins(data, m === 10 ? points.peek() : [], m, tick, began), [data, m, tick, began]);
	return (
		<section aria-labelledby="over-time">
			<div class="section-head">
				<h2 id="over-time">Over time</h2>
				<div class="choice" role="group" aria-label="How far back">
					{spans.map(([n, label]) => (
						<button key={n} type="button" aria-pressed={n === m} onClick={() => (minutes.value = n)}>{label}</button>
					))}
				</div>
			</div>
			{error && <p class="fault">The series cannot be read: {error}</p>}
			<div class="charts">
				{charts.map((c) => <Chart key={c.title} {...c} {...(drawn ?? nothing)} />)}
			</div>
		</section>
	);
}

const nothing = { t: [], range: [0, 1], values: Object.fromEntries(["calls", "refused", "output_tokens", "usd", "in_flight", "queued"].map((k) => [k, []])) };

// useTick is the server's time, once every two seconds: a chart need not move
// more often.
function useTick() {
	const [at, set] = useState(now.peek());
	useEffect(() => now.subscribe((v) => set((was) => (Math.abs(v - was) >= 1900 ? v : was))), []);
	return at;
}

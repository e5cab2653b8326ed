import { int, ms, percent, rate, span, usd } from "./format.js";
import { classWords, limitWords, orgTitle } from "./words.js";

// Totals is a job's summary, as `run --summary` writes it, where there is one.
export function Totals({ j }) {
	const t = j.totals;
	if (!t) return null;
	const limited = Object.entries(t.rate_limited ?? {}).filter(([, n]) => n > 0);
	const refused = Object.values(t.rate_limited ?? {}).reduce((sum, n) => sum + n, 0);
	const facts = [
		["attempts", int(t.attempts)],
		["rate-limited", limited.length ? `${int(refused)} (${limited.map(([c, n]) => `${classWords(c)} ${int(n)}`).join(", ")})` : int(refused)],
		["overloaded", int(t.overloaded)],
		["connections broken", int(t.transport_errors)],
		["latency p50 · p95 · p99", t.p50_ms > 0 ? `${ms(t.p50_ms)} · ${ms(t.p95_ms)} · ${ms(t.p99_ms)}` : null],
		["calls a minute", t.calls_per_min > 0 ? rate(t.calls_per_min) : null],
		["output tokens a minute", t.output_tokens_per_min > 0 ? rate(t.output_tokens_per_min) : null],
		["wall clock", t.wall_s > 0 ? span(t.wall_s) : null],
		["of the best possible", t.efficiency > 0 ? percent(t.efficiency) : null],
		["cached", t.cached > 0 ? int(t.cached) : null],
		["in doubt", t.in_doubt > 0 ? int(t.in_doubt) : null],
		["hedges", t.hedges > 0 ? `${int(t.hedges)} (${usd(t.hedge_usd)})` : null],
	].filter(([, v]) => v !== null);
	return (
		<details class="totals">
			<summary>In numbers</summary>
			<dl class="facts wide">
				{facts.map(([name, value]) => <div key={name}><dt>{name}</dt><dd>{value}</dd></div>)}
			</dl>
			<ByLane lanes={t.by_lane} />
			<Binding binding={t.binding} />
			<Errors errors={t.errors} />
		</details>
	);
}

function ByLane({ lanes }) {
	if (!lanes?.length) return null;
	return (
		<div class="scroll">
			<table>
				<caption>By lane</caption>
				<thead><tr><th scope="col">lane</th><th scope="col" class="num">rows</th><th scope="col" class="num">attempts</th><th scope="col" class="num">rate-limited</th><th scope="col" class="num">p50</th><th scope="col" class="num">p95</th><th scope="col" class="num">spent</th><th scope="col" class="num">most in flight</th></tr></thead>
				<tbody>
					{lanes.map((l) => (
						<tr key={`${l.org}/${l.pool}/${l.tier}`}>
							<th scope="row">{orgTitle(l.org)} {l.pool} {l.tier}</th>
							<td class="num">{int(l.n)}</td><td class="num">{int(l.attempts)}</td><td class="num">{int(l.rate_limited)}</td>
							<td class="num">{l.p50_ms > 0 ? ms(l.p50_ms) : "–"}</td><td class="num">{l.p95_ms > 0 ? ms(l.p95_ms) : "–"}</td>
							<td class="num">{usd(l.cost_usd)}</td><td class="num">{int(l.peak_in_flight)}</td>
						</tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

function Binding({ binding }) {
	if (!binding?.length) return null;
	return (
		<div class="scroll">
			<table>
				<caption>What the waiting was for</caption>
				<thead><tr><th scope="col" class="num">share</th><th scope="col">limit</th><th scope="col">lane</th><th scope="col">whose to change</th><th scope="col">one step more</th></tr></thead>
				<tbody>
					{binding.map((b, i) => (
						<tr key={i}><td class="num">{percent(b.share)}</td><th scope="row">{limitWords(b.limit)}</th><td>{[b.org && orgTitle(b.org), b.pool, b.tier].filter(Boolean).join(" ")}</td><td>{b.whose ?? ""}</td><td>{b.one_step_more ?? ""}</td></tr>
					))}
				</tbody>
			</table>
		</div>
	);
}

function Errors({ errors }) {
	if (!errors?.length) return null;
	return (
		<div class="scroll">
			<table>
				<caption>Errors</caption>
				<thead><tr><th scope="col" class="num">rows</th><th scope="col">type</th><th scope="col">message</th><th scope="col">for example</th></tr></thead>
				<tbody>
					{errors.map((e, i) => <tr key={i}><td class="num">{int(e.n)}</td><th scope="row">{e.type}</th><td class="text">{e.message}</td><td class="mono text">{e.example_id}</td></tr>)}
				</tbody>
			</table>
		</div>
	);
}

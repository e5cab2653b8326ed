import { now } from "./live.js";
import { href } from "./route.js";
import { compact, int, moment, plural, span, usd } from "./format.js";
import { orgTitle } from "./words.js";
import { Progress } from "./bars.jsx";

export function Queues({ queues }) {
	return (
		<section aria-labelledby="queues">
			<h2 id="queues">Waiting, by priority</h2>
			<table>
				<thead><tr><th scope="col">priority</th><th scope="col" class="num">waiting</th><th scope="col" class="num">in flight</th><th scope="col" class="num">oldest waits</th></tr></thead>
				<tbody>
					{queues?.map((q) => (
						<tr key={q.priority}>
							<th scope="row">{q.priority}</th>
							<td class="num">{int(q.queued)}</td>
							<td class="num">{int(q.in_flight)}</td>
							<td class="num">{q.queued > 0 || q.oldest_wait_s > 0 ? span(q.oldest_wait_s) : "–"}</td>
						</tr>
					))}
					{!queues?.length && <tr><td colSpan={4} class="no-data">{queues ? "nothing waits" : "no data yet"}</td></tr>}
				</tbody>
			</table>
		</section>
	);
}

export function Clients({ clients }) {
	if (clients === null) return <section />;
	return (
		<section aria-labelledby="clients">
			<h2 id="clients">Clients</h2>
			<table>
				<thead><tr><th scope="col">client</th><th scope="col" class="c-priority">priority</th><th scope="col" class="num">waiting</th><th scope="col" class="num">in flight</th><th scope="col" class="num">calls</th><th scope="col" class="num">today</th></tr></thead>
				<tbody>
					{clients?.map((c) => (
						<tr key={`${c.name}/${c.priority}`}>
							<th scope="row" class="text name">{c.name || "–"}{c.weight > 0 && c.weight !== 1 && <span class="faint" title="weight within its priority"> ×{c.weight}</span>}</th>
							<td class="c-priority">{c.priority}</td>
							<td class="num">{int(c.queued)}</td>
							<td class="num">{int(c.in_flight)}</td>
							<td class="num">{compact(c.calls)}</td>
							<td class="num">{usd(c.spent_today_usd)}{c.limit_per_day_usd > 0 && <span class={c.spent_today_usd >= c.limit_per_day_usd ? "slow" : "faint"}> of {usd(c.limit_per_day_usd)}</span>}</td>
						</tr>
					))}
					{!clients?.length && <tr><td colSpan={6} class="no-data">{clients ? "nobody has called yet" : "no data yet"}</td></tr>}
				</tbody>
			</table>
		</section>
	);
}

export function Batches({ batches }) {
	const at = now.value;
	if (!batches?.length) return null;
	const rows = batches.reduce((sum, b) => sum + (b.rows ?? 0), 0);
	return (
		<section aria-labelledby="batches">
			<div class="section-head">
				<h2 id="batches">Batches at the provider</h2>
				<span class="faint">{plural(batches.length, "batch", "batches")}, {plural(rows, "row")}</span>
			</div>
			<div class="scroll">
				<table>
					<thead><tr><th scope="col">batch</th><th scope="col">job</th><th scope="col">org</th><th scope="col" class="c-pool">pool</th><th scope="col" class="num">rows</th><th scope="col" class="num">age</th><th scope="col">expected to end</th><th scope="col" class="c-time">time, of what is expected</th></tr></thead>
					<tbody>
						{batches.slice(0, 30).map((b, i) => <Batch key={b.id || `${b.made}/${i}`} b={b} at={at} />)}
					</tbody>
				</table>
			</div>
			{batches.length > 30 && <p class="faint">and {plural(batches.length - 30, "younger batch", "younger batches")}</p>}
		</section>
	);
}

function Batch({ b, at }) {
	const made = Date.parse(b.made ?? "");
	const end = Date.parse(b.expected ?? "");
	const age = Number.isNaN(made) ? null : Math.max(0, (at - made) / 1000);
	const whole = (end - made) / 1000;
	const left = (end - at) / 1000;
	return (
		<tr>
			<th scope="row" class="mono nowrap">{b.id || <span class="faint">being created</span>}</th>
			<td class="mono">{b.job ? <a href={href("jobs", b.job)}>{b.job}</a> : "–"}</td>
			<td class="nowrap">{orgTitle(b.org)}</td>
			<td class="c-pool">{b.pool}</td>
			<td class="num">{int(b.rows)}</td>
			<td class="num">{span(age)}</td>
			<td class={`nowrap ${b.stalled || b.unseen ? "slow" : ""}`} title={b.unseen ? "Its rows wait for it until it must have expired, a day after its create." : undefined}>
				{b.unseen ? "not found at the provider" : b.canceling ? "being canceled" : b.stalled ? "overdue" : Number.isNaN(end) ? "not known" : left > 0 ? `in ${span(left)}, ${moment(b.expected, at)}` : "any moment"}
			</td>
			<td class="c-time">{whole > 0 && age !== null ? <Progress n={whole} parts={[{ name: b.stalled ? "overdue" : "passed", n: Math.min(whole, age) }]} label={`age of batch ${b.id}`} /> : "–"}</td>
		</tr>
	);
}

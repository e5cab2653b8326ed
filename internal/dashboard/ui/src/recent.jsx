import { useState } from "preact/hooks";
import { useFetched } from "./fetched.js";
import { now } from "./live.js";
import { int, moment, ms, usd } from "./format.js";
import { classWords, orgTitle, tone } from "./words.js";

const kinds = [
	["all", "All", () => true],
	["again", "Tried again", (c) => c.attempt > 1 || (!c.final && c.attempt !== null)],
	["refused", "Refused", (c) => tone(c.class) === "slow"],
	["failed", "Failed", (c) => c.final && c.class !== "succeeded"],
	["slow", "Waited over 1 s", (c) => c.queued_ms > 1000],
];

// Recent is the last attempts, with why each waited or was tried again.
export function Recent() {
	const { data, error } = useFetched("api/recent?limit=200", 2);
	const [kind, setKind] = useState("all");
	const [held, setHeld] = useState(null);
	const calls = held ?? data;
	const shown = calls?.filter(kinds.find(([k]) => k === kind)[2]);
	return (
		<section class="page" aria-labelledby="recent">
			<div class="section-head">
				<h1 id="recent">The last calls</h1>
				<div class="choice" role="group" aria-label="Which calls">
					{kinds.map(([k, label]) => <button key={k} type="button" aria-pressed={k === kind} onClick={() => setKind(k)}>{label}</button>)}
				</div>
				<button type="button" class="small" aria-pressed={held !== null} onClick={() => setHeld(held ? null : data)}>{held ? "Go on" : "Hold still"}</button>
			</div>
			<p class="faint">Why did this call wait, or go twice? Each line is one attempt, newest first; the last {int(200)} are shown.</p>
			{error && <p class="fault">The calls cannot be read: {error}</p>}
			<div class="scroll">
				<table class="calls" role="table">
					<thead role="rowgroup"><tr role="row"><th scope="col">ended</th><th scope="col">client</th><th scope="col">model</th><th scope="col">lane</th><th scope="col">outcome</th><th scope="col" class="num">attempt</th><th scope="col" class="num">waited</th><th scope="col" class="num">first byte</th><th scope="col" class="num">whole</th><th scope="col" class="num">cost</th><th scope="col">why</th></tr></thead>
					<tbody role="rowgroup">
						{shown?.map((c, i) => <Call key={`${c.at}/${c.client}/${c.attempt}/${i}`} c={c} at={now.peek()} />)}
						{!shown?.length && <tr><td colSpan={11} class="no-data">{!calls ? "no data yet" : calls.length ? "none of the last calls is one" : "no call has ended yet"}</td></tr>}
					</tbody>
				</table>
			</div>
		</section>
	);
}

function Call({ c, at }) {
	return (
		<tr role="row">
			<td role="cell" class="nowrap c-at">{moment(c.at, at)}</td>
			<td role="cell" class="caller"><span class="text">{c.client || "–"}</span> <small>{c.priority}</small></td>
			<td role="cell" class="nowrap text c-model">{c.model || "–"}</td>
			<td role="cell" class="nowrap c-lane">{orgTitle(c.org)} <small>{c.pool} {c.tier}</small></td>
			<td role="cell" class={`nowrap c-outcome ${tone(c.class)}`}>{classWords(c.class)}{c.status > 0 && c.class !== "succeeded" && <small> {c.status}</small>}</td>
			<td role="cell" class="num c-attempt">{c.attempt === null ? <small>batch</small> : int(c.attempt)}{!c.final && c.attempt !== null && <small> of more</small>}</td>
			<td role="cell" class={`num c-waited ${c.queued_ms > 1000 ? "slow" : ""}`}><span class="narrow-label">waited </span>{ms(c.queued_ms)}</td>
			<td role="cell" class="num c-first">{c.first_byte_ms > 0 ? ms(c.first_byte_ms) : "–"}</td>
			<td role="cell" class="num c-whole">{c.latency_ms > 0 ? ms(c.latency_ms) : "–"}</td>
			<td role="cell" class="num c-cost">{c.cost_usd == null ? "–" : usd(c.cost_usd)}{c.in_doubt && <small title="whether it was billed is not known: its worst case"> at worst</small>}</td>
			<td role="cell" class="text reason">{c.why}</td>
		</tr>
	);
}

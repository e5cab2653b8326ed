import { useState } from "preact/hooks";
import { now } from "./live.js";
import { post, segment } from "./api.js";
import { refresh } from "./live.js";
import { Level, Queue, Window } from "./bars.jsx";
import { countdown, int, plural, usd } from "./format.js";
import { classWords, holds, needsPerson, orgTitle } from "./words.js";

// Lanes is a line for each lane, in the orgs' order; those that did nothing yet
// are folded away.
export function Lanes({ lanes }) {
	const [all, setAll] = useState(false);
	const idle = lanes?.filter(isIdle) ?? [];
	const shown = all || idle.length === (lanes?.length ?? 0) ? lanes ?? [] : lanes.filter((l) => !isIdle(l));
	return (
		<section aria-labelledby="lanes">
			<div class="section-head">
				<h2 id="lanes">Lanes</h2>
				{idle.length > 0 && idle.length < lanes.length && (
					<button type="button" class="small" aria-expanded={all} onClick={() => setAll(!all)}>
						{all ? "Hide idle lanes" : `Show ${plural(idle.length, "idle lane")}`}
					</button>
				)}
			</div>
			{!lanes ? <p class="no-data">no data yet</p> : lanes.length === 0 ? <p class="no-data">no lanes</p> : (
				<div class="lanes" role="table" aria-label="Lanes">
					<div class="lane head" role="row">
						{["Lane", "In flight / window", "What is left in the provider's buckets", "What holds the next call back", "Refused", "Spent", ""].map((name) => (
							<div key={name} role="columnheader" class={name === "Refused" || name === "Spent" ? "num" : ""}>{name || <span class="unseen">Pause</span>}</div>
						))}
					</div>
					{shown.map((l) => <Lane key={`${l.org}/${l.pool}/${l.tier}`} l={l} />)}
				</div>
			)}
		</section>
	);
}

const isIdle = (l) => !l.sent && !l.in_flight && !l.closed && !l.paused && !l.queued;

function Lane({ l }) {
	const closed = l.closed || l.paused;
	return (
		<div class={`lane ${l.paused ? "paused" : l.closed ? "closed" : ""}`} role="row">
			<div role="cell" class="who">
				<b>{orgTitle(l.org)}</b> <span>{l.pool}</span> <span class={`tier ${l.tier}`}>{l.tier}</span>
			</div>
			<div role="cell" class="flight">
				<Window inFlight={l.in_flight} window={l.window} cap={l.cap} what={l.tier === "batch" ? "batches" : "calls"} />
			</div>
			<div role="cell" class="levels">
				{l.tier === "batch" ? <Queue ours={l.queued} others={l.queued_by_others} holds={l.queue} /> : dims.map(([key, name, unit]) => (
					<Level key={key} name={name} unit={unit} level={l.level?.[key]} capacity={l.capacity?.[key]} soft={l.soft_floor?.[key]} hard={l.hard_floor?.[key]} others={l.others?.[key]} limit={l.limits?.[key]} />
				))}
			</div>
			<div role="cell" class={`why ${closed ? "stopped" : l.waiting === "work" || !l.waiting ? "faint" : ""}`}>
				{holds(l)}
				{l.closed && <Reopens l={l} />}
			</div>
			<div role="cell" class="num refused" title={refusedWords(l)}><span class="narrow-label">refused </span>{int(total(l.refused))}{l.overloaded > 0 && <small title="refused by an overloaded provider (529)">+{int(l.overloaded)} overloaded</small>}</div>
			<div role="cell" class="num spent"><span class="narrow-label">spent </span>{usd(l.cost_usd)}</div>
			<div role="cell" class="act"><PauseLane l={l} /></div>
		</div>
	);
}

const dims = [["requests", "requests", "requests"], ["input", "input", "tokens"], ["output", "output", "tokens"]];

// total counts the refusals but those by overload, which have a number of their own.
function total(refused) {
	if (!refused) return null;
	return Object.entries(refused).reduce((sum, [cls, n]) => (cls === "overloaded" ? sum : sum + n), 0);
}

function refusedWords(l) {
	const by = Object.entries(l.refused ?? {}).filter(([, n]) => n > 0).sort((a, b) => b[1] - a[1]);
	return by.length ? by.map(([cls, n]) => `${classWords(cls)}: ${int(n)}`).join("; ") : "nothing was refused";
}

// Reopens counts down to when a closed lane takes calls again. A person must
// mend some of them: then it is only the next try.
function Reopens({ l }) {
	const at = Date.parse(l.reopens ?? "");
	const person = needsPerson(l.class);
	if (Number.isNaN(at)) return <small>{person ? "until somebody mends it" : "not known when it reopens"}</small>;
	const left = (at - now.value) / 1000;
	const what = person ? "next try" : "reopens";
	return <small class="count">{left > 0.5 ? `${what} in ${countdown(left)}` : `${what} now`}</small>;
}

function PauseLane({ l }) {
	const [fault, setFault] = useState("");
	const [busy, setBusy] = useState(false);
	if (l.paused === null || l.paused === undefined) return null;
	const verb = l.paused ? "resume" : "pause";
	const press = async () => {
		setBusy(true);
		setFault("");
		try {
			await post(`api/lanes/${segment(l.org)}/${segment(l.pool)}/${segment(l.tier)}/${verb}`);
			await refresh();
		} catch (err) {
			setFault(err.message);
		}
		setBusy(false);
	};
	return (
		<>
			<button type="button" class="small" disabled={busy} onClick={press} aria-label={`${verb} the lane ${l.org} ${l.pool} ${l.tier}`}>{l.paused ? "Resume" : "Pause"}</button>
			{fault && <small class="fault" role="alert">{fault}</small>}
		</>
	);
}

import { state } from "./live.js";
import { compact, int, percent, rate, usd } from "./format.js";
import { holds, orgTitle } from "./words.js";
import { Charts } from "./charts.jsx";
import { Lanes } from "./lanes.jsx";
import { Batches, Clients, Queues } from "./queues.jsx";
import { active, JobTable } from "./jobs.jsx";

export function Overview() {
	const s = state.value;
	return (
		<div class="overview">
			<h1 class="unseen">Overview</h1>
			{s?.mode !== "view" && <Now s={s} />}
			<JobTable jobs={s?.jobs} limit={8} />
		</div>
	);
}

// Now is what goes on in this process, where one goes on.
function Now({ s }) {
	return (
		<>
			<Figures s={s} />
			{s?.lanes && <Held lanes={s.lanes} />}
			<Charts />
			<Lanes lanes={s?.lanes} />
			<div class="halves">
				<Queues queues={s?.queues} />
				<Clients clients={s?.clients} />
			</div>
			<Batches batches={s?.batches} />
		</>
	);
}

// Held says in one line what holds the fleet back now, lanes of one reason
// together. It is cut off rather than let the page move.
function Held({ lanes }) {
	const reasons = new Map();
	for (const l of lanes) {
		const stopped = l.closed || l.paused;
		if (!stopped && (!l.sent || !l.waiting || l.waiting === "work")) continue;
		const words = holds(l);
		const lane = `${orgTitle(l.org)} ${l.pool}${l.tier === "batch" ? " batch" : ""}`;
		reasons.set(words, { stopped, lanes: [...(reasons.get(words)?.lanes ?? []), lane] });
	}
	const all = [...reasons];
	const text = all.map(([words, r]) => `${words} (${r.lanes.join(", ")})`).join(" · ");
	return (
		<p class="held" title={text}>
			<span class="faint">Held back by</span>{" "}
			{all.length === 0 ? "nothing" : all.map(([words, r], i) => (
				<span key={words}>{i > 0 && " · "}<span class={r.stopped ? "bad" : ""}>{words}</span> <span class="faint">({r.lanes.join(", ")})</span></span>
			))}
		</p>
	);
}

// Figures are the few numbers that say how it goes.
function Figures({ s }) {
	const t = s?.totals;
	const sync = s?.lanes?.filter((l) => l.tier === "sync") ?? [];
	const perMin = s?.jobs?.reduce((sum, j) => (j.rate_per_min > 0 ? sum + j.rate_per_min : sum), 0);
	const flight = s?.lanes ? sync.reduce((sum, l) => sum + (l.in_flight ?? 0), 0) : null;
	const waiting = s?.queues ? s.queues.reduce((sum, q) => sum + (q.queued ?? 0), 0) : null;
	const refused = t && t.calls > 0 ? (t.refused ?? 0) / (t.calls + (t.refused ?? 0) + (t.overloaded ?? 0)) : null;
	return (
		<dl class="figures" aria-label="In all">
			<Figure name="in flight" value={int(flight)} note={waiting === null ? "calls" : `${compact(waiting)} waiting`} />
			<Figure name="rows of jobs a minute" value={perMin > 0 ? rate(perMin) : "–"} note={s?.jobs ? `${int(s.jobs.filter(active).length)} running` : ""} />
			<Figure name="calls" value={compact(t?.calls)} note={t?.succeeded == null ? "" : `${compact(t.succeeded)} answered`} />
			<Figure name="refused" value={compact(t?.refused)} note={refused === null ? "429s" : `${percent(refused)} of attempts`} tone={refused > 0.05 ? "slow" : ""} />
			<Figure name="overloaded" value={compact(t?.overloaded)} note="529s" />
			<Figure name="attempts a call" value={t?.attempts_per_call == null ? "–" : t.attempts_per_call.toFixed(2)} note="1.00 is best" />
			<Figure name="spent" value={usd(t?.cost_usd)} note={t?.cap_usd != null ? `of ${usd(t.cap_usd)}` : t?.estimated_usd > 0 ? `${usd(t.estimated_usd)} of it estimated` : t ? "no cap" : ""} />
		</dl>
	);
}

function Figure({ name, value, note, tone = "" }) {
	return (
		<div class={`figure ${tone}`}>
			<dt>{name}</dt>
			<dd>
				<span class="big">{value}</span>
				<span class="note">{note || "\u00a0"}</span>
			</dd>
		</div>
	);
}

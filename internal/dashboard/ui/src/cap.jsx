import { useState } from "preact/hooks";
import { post, segment } from "./api.js";
import { refresh } from "./live.js";
import { usd } from "./format.js";

// outlook is what a job costs a row, by what has settled, and when all rows are
// done: what is set aside for rows under way is their worst case, and tells
// neither.
export function outlook(j, settled) {
	const each = settled > 0 ? (j.settled_usd ?? 0) / settled : null;
	const left = j.n - settled;
	return { each, end: each !== null && left > 0 ? (j.settled_usd ?? 0) + each * left : null };
}

// Cap is what was spent and set aside against the cap, which may be changed while
// it runs.
export function Cap({ j, end }) {
	const [editing, setEditing] = useState(false);
	const capped = j.cap_usd !== null && j.cap_usd !== undefined;
	const of = (x) => (capped && j.cap_usd > 0 ? Math.min(1, (x ?? 0) / j.cap_usd) : 0);
	const [settled, all] = [of(j.settled_usd), of(j.spent_usd)];
	const short = capped && end !== null && end > j.cap_usd * 1.005;
	const reserved = j.reserved_usd > 0 ? `, ${usd(j.reserved_usd)} set aside` : "";
	const words = `${usd(j.settled_usd)} spent${reserved}, ${capped ? `of ${usd(j.cap_usd)}` : "no cap"}`;
	return (
		<div class="money">
			<p class="of">
				<b>{usd(j.settled_usd)}</b> {capped ? <>of {usd(j.cap_usd)}<span class="faint" title="for rows under way, at their worst">{reserved}</span></> : <span class="faint">spent{reserved}, no cap</span>}
				{j.controllable && !editing && <button type="button" class="small" onClick={() => setEditing(true)}>{capped ? "Change the cap" : "Set a cap"}</button>}
			</p>
			<div class="progress" role="meter" aria-label={words} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(100 * all)}>
				<i class={settled >= 1 ? "errored" : short ? "overdue" : "spent"} style={{ width: `${(100 * settled).toFixed(2)}%` }} />
				<i class="reserved" style={{ width: `${(100 * (all - settled)).toFixed(2)}%` }} />
			</div>
			<p class={short ? "slow" : "faint"}>{end === null ? "\u00a0" : `about ${usd(end)} when all rows are done${short ? ", which is over the cap" : ""}`}</p>
			{editing && <CapForm j={j} done={() => setEditing(false)} />}
		</div>
	);
}

function CapForm({ j, done }) {
	const [text, setText] = useState(j.cap_usd != null ? String(j.cap_usd) : "");
	const [fault, setFault] = useState("");
	const [busy, setBusy] = useState(false);
	const send = async (e) => {
		e.preventDefault();
		const value = Number(text.trim().replace(/^\$/, ""));
		if (text.trim() === "" || !Number.isFinite(value) || value < 0) {
			setFault("a cap is a number of dollars, such as 12.50");
			return;
		}
		setBusy(true);
		try {
			await post(`api/jobs/${segment(j.key)}/cap`, { usd: value });
			await refresh();
			done();
		} catch (err) {
			setFault(err.message);
			setBusy(false);
		}
	};
	return (
		<form class="cap-form" onSubmit={send} onKeyDown={(e) => e.key === "Escape" && done()}>
			<label for="cap">New cap, US$</label>
			<input id="cap" ref={(el) => el && document.activeElement === document.body && el.focus()} inputMode="decimal" autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value)} aria-describedby="cap-fault" />
			<button type="submit" disabled={busy}>Set</button>
			<button type="button" class="quiet" onClick={done}>Leave it</button>
			<span id="cap-fault" class="fault" role="alert">{fault}</span>
		</form>
	);
}

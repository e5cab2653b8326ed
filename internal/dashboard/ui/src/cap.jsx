import { useState } from "preact/hooks";
import { post, segment } from "./api.js";
import { refresh } from "./live.js";
import { usd } from "./format.js";

// Cap is what was spent against the cap, which may be changed while it runs.
export function Cap({ j, left, each }) {
	const [editing, setEditing] = useState(false);
	const capped = j.cap_usd !== null && j.cap_usd !== undefined;
	const share = capped && j.cap_usd > 0 ? Math.min(1, (j.spent_usd ?? 0) / j.cap_usd) : 0;
	const end = each !== null && left > 0 ? (j.spent_usd ?? 0) + each * left : null;
	const short = capped && end !== null && end > j.cap_usd * 1.005;
	return (
		<div class="money">
			<p class="of">
				<b>{usd(j.spent_usd)}</b> {capped ? <>of {usd(j.cap_usd)}</> : <span class="faint">spent, no cap</span>}
				{j.controllable && !editing && <button type="button" class="small" onClick={() => setEditing(true)}>{capped ? "Change the cap" : "Set a cap"}</button>}
			</p>
			<div class="progress" role="meter" aria-label={capped ? `${usd(j.spent_usd)} spent of ${usd(j.cap_usd)}` : `${usd(j.spent_usd)} spent, no cap`} aria-valuemin={0} aria-valuemax={100} aria-valuenow={Math.round(100 * share)}>
				<i class={share >= 1 ? "errored" : short ? "overdue" : "spent"} style={{ width: `${(100 * share).toFixed(2)}%` }} />
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

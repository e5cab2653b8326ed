import { useRef, useState } from "preact/hooks";
import { post, segment } from "./api.js";
import { refresh } from "./live.js";
import { plural } from "./format.js";
import { active } from "./jobs.jsx";

// Controls pause, resume and cancel a job. Canceling cannot be taken back, so it
// asks.
export function Controls({ j }) {
	const [busy, setBusy] = useState("");
	const [fault, setFault] = useState("");
	const dialog = useRef(null);
	if (!j.controllable) return active(j) ? <p class="faint controls">It cannot be controlled from here.</p> : null;
	const ask = async (verb) => {
		setBusy(verb);
		setFault("");
		try {
			await post(`api/jobs/${segment(j.key)}/${verb}`);
			await refresh();
		} catch (err) {
			setFault(err.message);
		}
		setBusy("");
	};
	const paused = j.state === "paused" || j.signal === "pause";
	const canceling = j.state === "canceling" || j.signal === "cancel";
	return (
		<div class="controls">
			<button type="button" disabled={!!busy || canceling} onClick={() => ask(paused ? "resume" : "pause")}>{paused ? "Resume" : "Pause"}</button>
			<button type="button" class="danger" disabled={!!busy || canceling} onClick={() => dialog.current.showModal()}>Cancel…</button>
			<span class="fault" role="alert">{fault}</span>
			<dialog ref={dialog} aria-labelledby="cancel-title">
				<form method="dialog" class="dialog-body" onSubmit={(e) => e.submitter?.value === "yes" && ask("cancel")}>
					<h2 id="cancel-title">Cancel job {j.key}?</h2>
					<p>{plural(j.pending ?? 0, "row")} that {j.pending === 1 ? "is" : "are"} not settled will not be sent. Batches that run at the provider are canceled too. What is done is kept. This cannot be taken back.</p>
					<p class="dialog-end">
						<button type="submit" value="no" autofocus>Go on</button>
						<button type="submit" value="yes" class="danger">Cancel the job</button>
					</p>
				</form>
			</dialog>
		</div>
	);
}

import { useEffect, useRef } from "preact/hooks";
import { state } from "./live.js";

const keys = [
	["/", "search the rows of a job"],
	["j k", "next, previous row (↓ ↑ too)"],
	["Enter", "read the row"],
	["Esc", "close what is read, or clear the search"],
	["g G", "first, last row"],
	["r", "raw JSON of the row that is read"],
	["?", "this page"],
];

export function openHelp() {
	document.getElementById("help")?.showModal();
}

export function Help() {
	const dialog = useRef(null);
	useEffect(() => {
		const press = (e) => {
			if (e.key === "?" && !inField(e.target) && !e.ctrlKey && !e.metaKey) openHelp();
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
	const close = () => dialog.current.close();
	return (
		<dialog id="help" ref={dialog} aria-labelledby="help-title" onClick={(e) => e.target === dialog.current && close()}>
			<div class="dialog-body">
				<h2 id="help-title">Keys</h2>
				<dl class="keys">
					{keys.map(([key, does]) => (
						<div key={key}>
							<dt>{key.split(" ").map((k) => <kbd key={k}>{k}</kbd>)}</dt>
							<dd>{does}</dd>
						</div>
					))}
				</dl>
				<h2>What the bars mean</h2>
				<p>
					A lane is an org, a group of models that share limits, and a way of being served. Its bars show how much is left in
					the provider's buckets. Below the first mark we slow down, below the second nothing goes. In flight is how many
					calls are under way; the mark is the window (how many may be), the end of the bar is the cap.
				</p>
				<p>A dash means that a number is not known. Gaps in charts are times of which nothing was recorded.</p>
				<p class="faint">
					flotilla {state.value?.version ?? ""} · <a href={document.querySelector("link[rel=license]").getAttribute("href")}>licences of what these pages are made with</a>
				</p>
				<p class="dialog-end"><button type="button" autofocus onClick={close}>Close</button></p>
			</div>
		</dialog>
	);
}

// inField is whether keys are text there.
export function inField(el) {
	return el instanceof HTMLElement && (el.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(el.tagName));
}

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { route, setQuery } from "./route.js";
import { int, percent, plural } from "./format.js";
import { inField } from "./help.jsx";
import { RowStore } from "./row_store.js";
import { RowList } from "./row_list.jsx";
import { Reader } from "./reader.jsx";

const statuses = ["succeeded", "errored", "expired", "canceled", "pending", "truncated", "refused"];

// Rows is the search over a job's rows, their list, and the one that is read.
// What is searched and read stands in the address, so that it can be shared.
export function Rows({ job, n, active, settled }) {
	const query = route.value.query;
	const q = query.get("q") ?? "";
	const status = query.get("status") ?? "";
	const read = query.get("row");
	const [typed, setTyped] = useState(q);
	const [at, setAt] = useState(0);
	const field = useRef(null);
	const list = useRef(null);
	const store = useMemo(() => new RowStore(job, q, status), [job, q, status]);
	useEffect(() => () => store.close(), [store]);
	useEffect(() => setAt(0), [store]);
	useEffect(() => {
		const t = setTimeout(() => typed.trim() !== q && setQuery({ q: typed.trim() }), 140);
		return () => clearTimeout(t);
	}, [typed]);
	useRefresh(store, active, settled);
	const head = store.head.value;
	const found = head.matched ?? (q || status ? 0 : n ?? 0);
	const section = useRef(null);
	const open = (i) => {
		setAt(i);
		const row = store.row(i);
		if (!row) return;
		setQuery({ row: row.row }, read === null);
		section.current.scrollIntoView({ block: "start" });
	};
	const close = () => {
		setQuery({ row: null });
		list.current?.focus();
	};
	useKeys({ store, at, open, close, move: setAt, reading: read !== null, field, list, typed, setTyped });
	return (
		<section class={`rows ${read !== null ? "reading" : ""}`} aria-labelledby="rows" ref={section}>
			<div class="section-head">
				<h2 id="rows">Rows</h2>
				<p class="found faint" role="status">{findings(head, q, status, "row")}</p>
			</div>
			<div class="search" role="search">
				<input ref={field} type="search" value={typed} placeholder="Search ids, prompts and answers" aria-label="Search the rows" aria-keyshortcuts="/" spellcheck={false} autocomplete="off" onInput={(e) => setTyped(e.currentTarget.value)} />
				<select value={status} aria-label="Status" onChange={(e) => setQuery({ status: e.currentTarget.value })}>
					<option value="">every status</option>
					{statuses.map((s) => <option key={s} value={s}>{s}</option>)}
				</select>
			</div>
			{head.error && <p class="fault" role="alert">The rows cannot be read: {head.error}</p>}
			<div class="split">
				<RowList store={store} at={Math.max(0, Math.min(at, found - 1))} n={found} q={q} read={read} open={open} box={list} />
				{read !== null && <Reader key={read} job={job} row={read} close={close} q={q} active={active} />}
			</div>
		</section>
	);
}

// findings says in words what a search came to.
export function findings(head, q, narrowed, what) {
	if (head.matched === null) return head.loading ? "reading…" : "";
	if (!q && !narrowed) return plural(head.total, what);
	const took = head.took !== null && head.took !== undefined ? `, ${head.took < 10 ? Number(head.took.toFixed(1)) : Math.round(head.took)} ms` : "";
	const where = q && head.searched ? ` in ${head.searched}` : "";
	const whole = head.indexed < 1 ? `; ${percent(head.indexed)} is searchable so far` : "";
	return `${int(head.matched)} of ${plural(head.total, what)}${where}${took}${whole}`;
}

// useRefresh reads the rows in view anew while the job settles rows, every two
// seconds at most.
export function useRefresh(store, active, settled) {
	const indexed = store.head.value.indexed ?? 1;
	useEffect(() => {
		const t = indexed < 1 && setTimeout(() => store.refresh(), 700);
		return () => clearTimeout(t);
	});
	const last = useRef({ settled, at: 0 });
	useEffect(() => {
		const now = performance.now();
		if (last.current.settled === settled || (active && now - last.current.at < 2000)) return;
		last.current = { settled, at: now };
		if (store.head.peek().matched !== null) store.refresh();
	});
}

// useKeys moves through a list, and reads, by keys.
export function useKeys(k) {
	const held = useRef(k);
	held.current = k;
	useEffect(() => {
		const press = (e) => {
			const { store, at, open, close, move, reading, field, list, typed, setTyped } = held.current;
			if (e.ctrlKey || e.metaKey || e.altKey || document.querySelector("dialog[open]")) return;
			if (inField(e.target)) {
				if (e.target !== field.current) return;
				if (e.key === "Escape" && typed) setTyped("");
				else if (e.key === "Escape" || e.key === "Enter" || e.key === "ArrowDown") list.current?.focus();
				else return;
				e.preventDefault();
				return;
			}
			const onControl = e.target instanceof HTMLElement && e.target.closest("a, button, summary");
			const n = store.head.peek().matched ?? 0;
			const to = (i) => {
				const next = Math.max(0, Math.min(n - 1, i));
				if (n === 0) return;
				if (reading) open(next);
				else move(next);
			};
			const inList = list.current?.contains(e.target);
			const steps = { j: 1, k: -1, ...(inList ? { ArrowDown: 1, ArrowUp: -1, PageDown: 15, PageUp: -15 } : {}) };
			if (e.key === "/") field.current?.focus();
			else if (e.key in steps) to(at + steps[e.key]);
			else if (e.key === "g" || (inList && e.key === "Home")) to(0);
			else if (e.key === "G" || (inList && e.key === "End")) to(n - 1);
			else if (e.key === "Enter" && !onControl && n > 0) open(at);
			else if (e.key === "Escape" && reading) close();
			else return;
			e.preventDefault();
		};
		addEventListener("keydown", press);
		return () => removeEventListener("keydown", press);
	}, []);
}

import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { route, setQuery } from "./route.js";
import { compact, int, usd } from "./format.js";
import { orgTitle } from "./words.js";
import { RowStore } from "./row_store.js";
import { Marked, RowList } from "./row_list.jsx";
import { findings, useKeys, useRefresh } from "./rows.jsx";
import { judgeName, score, statuses, tone } from "./judge_words.js";
import { JudgeReader } from "./judge_reader.jsx";

// filters are what chooses verdicts, as the address and the API name them.
export const filters = ["judge", "status", "low", "high", "below", "label", "group", "truth", "order"];

// VerdictStore is the verdicts of one job under one choice.
class VerdictStore extends RowStore {
	what = "verdicts";

	constructor(job, q, chosen) {
		super(job, q, "");
		for (const [name, value] of chosen) this.query.set(name, value);
	}
}

// JudgeRows is the choice of verdicts, their list, and the one that is read.
export function JudgeRows({ job, page, active, box }) {
	const query = route.value.query;
	const q = query.get("q") ?? "";
	const chosen = filters.filter((name) => query.has(name)).map((name) => [name, query.get(name)]);
	const chosenText = JSON.stringify(chosen);
	const read = query.get("row");
	const [typed, setTyped] = useState(q);
	const [at, setAt] = useState(0);
	const field = useRef(null);
	const list = useRef(null);
	const store = useMemo(() => new VerdictStore(job, q, chosen), [job, q, chosenText]);
	useEffect(() => () => store.close(), [store]);
	useEffect(() => setAt(0), [store]);
	useEffect(() => {
		const t = setTimeout(() => typed.trim() !== q && setQuery({ q: typed.trim() }), 140);
		return () => clearTimeout(t);
	}, [typed]);
	useEffect(() => {
		if (typed.trim() !== q && document.activeElement !== field.current) setTyped(q); // a figure was pressed
	}, [q]);
	useRefresh(store, active, page.read);
	const head = store.head.value;
	const narrowed = q !== "" || chosen.some(([name]) => name !== "order");
	const found = head.matched ?? (narrowed ? 0 : page.calls ?? 0);
	const open = (i) => {
		setAt(i);
		const row = store.row(i);
		if (!row) return;
		setQuery({ row: row.row }, read === null);
		box.current.scrollIntoView({ block: "start" });
	};
	const close = () => {
		setQuery({ row: null });
		list.current?.focus();
	};
	useKeys({ store, at, open, close, move: setAt, reading: read !== null, field, list, typed, setTyped });
	const names = { judges: page.judges, many: page.judges.length > 1 };
	return (
		<section class={`rows verdicts ${read !== null ? "reading" : ""}`} aria-labelledby="verdict-rows" ref={box}>
			<div class="section-head">
				<h2 id="verdict-rows">Verdicts to read</h2>
				<p class="found faint" role="status">{findings(head, q, narrowed, "verdict")}</p>
			</div>
			<Choice page={page} query={query} typed={typed} setTyped={setTyped} field={field} />
			{head.error && <p class="fault" role="alert">The verdicts cannot be read: {head.error}</p>}
			<div class="split">
				<RowList store={store} at={Math.max(0, Math.min(at, found - 1))} n={found} q={q} read={read} open={open} box={list} head={<Names />} line={(row) => <Line row={row} q={q} names={names} />} none="no verdict matches" />
				{read !== null && <JudgeReader key={read} job={job} row={read} close={close} q={q} active={active} page={page} go={(row) => setQuery({ row })} />}
			</div>
		</section>
	);
}

// Choice is the fields that choose verdicts. A value that only a press on a
// figure sets stands there as a button that takes it out.
function Choice({ page, query, typed, setTyped, field }) {
	const set = (name) => (e) => setQuery({ [name]: e.currentTarget.value });
	const [low, high] = ["low", "high"].map((name) => query.get(name) ?? "");
	const scored = page.judges.some((j) => j.scale);
	const labels = [...new Set(page.judges.flatMap((j) => j.labels))];
	const pressed = [["group", page.by ?? "group"], ["truth", page.label ?? "label"], ["below", "score below"]].filter(([name]) => query.has(name));
	return (
		<div class="search choose" role="search">
			<input ref={field} type="search" value={typed} placeholder="Search ids, prompts and verdicts" aria-label="Search the verdicts" aria-keyshortcuts="/" spellcheck={false} autocomplete="off" onInput={(e) => setTyped(e.currentTarget.value)} />
			{page.judges.length > 1 && (
				<select value={query.get("judge") ?? ""} aria-label="Judge" onChange={set("judge")}>
					<option value="">every judge</option>
					{page.judges.map((j, i) => <option key={i} value={i}>{judgeName(j)}</option>)}
				</select>
			)}
			<select value={query.get("status") ?? ""} aria-label="Status" onChange={set("status")}>
				<option value="">every status</option>
				{[...statuses, "pending"].map((s) => <option key={s} value={s}>{s}</option>)}
				<option value="truncated,refused,unparsable,failed">without a score</option>
			</select>
			{labels.length > 0 && (
				<select value={query.get("label") ?? ""} aria-label="Label" onChange={set("label")}>
					<option value="">every label</option>
					{labels.map((l) => <option key={l} value={l}>{l}</option>)}
				</select>
			)}
			{scored && (
				<span class="range">
					<input type="number" step="any" value={low} placeholder="from" aria-label="Score from" onChange={set("low")} />
					<span class="faint">to</span>
					<input type="number" step="any" value={high} placeholder="to" aria-label="Score to" onChange={(e) => setQuery({ high: e.currentTarget.value, below: null })} />
				</span>
			)}
			{scored && (
				<select value={query.get("order") ?? ""} aria-label="Order" onChange={set("order")}>
					<option value="">in the input's order</option>
					<option value="score">lowest score first</option>
					<option value="-score">highest score first</option>
				</select>
			)}
			{pressed.map(([name, words]) => (
				<button key={name} type="button" class="small chip text" title="Take it out" onClick={() => setQuery({ [name]: null })}>{words} {query.get(name)} <span aria-hidden="true">×</span></button>
			))}
			{filters.some((name) => query.has(name)) && <button type="button" class="small" onClick={() => setQuery(Object.fromEntries(filters.map((name) => [name, null])))}>All verdicts</button>}
		</div>
	);
}

function Names() {
	return <><span class="num c-row">row</span><span>id, and the verdict</span><span class="num">score</span><span>status</span><span class="c-by">judge</span><span class="num c-usd">cost</span></>;
}

// Line is one verdict in the list.
function Line({ row, q, names }) {
	const j = names.judges[row.judge];
	return (
		<>
			<span class="num faint c-row">{int(row.record)}</span>
			<span class="c-id">
				<span class="id text">{row.id ?? `row ${row.record}`}{row.group !== null && <small class="faint"> {row.group}</small>}{names.many && <small class="faint by-narrow"> {judgeName(j ?? {})}</small>}</span>
				<span class="snippet text">{row.snippet ? <Marked text={row.snippet} q={q} /> : "\u00a0"}</span>
			</span>
			<span class="num c-score"><b>{row.label ?? score(row.score, j?.scale)}</b></span>
			<span class={`status ${tone(row.status)}`}>{row.status}</span>
			<span class="c-by text">{names.many ? judgeName(j ?? {}) : row.org ? `${orgTitle(row.org)} ${row.tier ?? ""}` : "–"}{row.repeat > 0 && <small> #{compact(row.repeat)}</small>}{row.swapped && <small> swapped</small>}</span>
			<span class="num c-usd">{row.cost_usd == null ? "–" : usd(row.cost_usd)}</span>
		</>
	);
}


import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { compact, int, ms, usd } from "./format.js";
import { orgTitle, standing, tone } from "./words.js";

// Heights of a row and of the line of names above them, in CSS pixels; the style
// says the same.
const HEIGHT = 44;
const HEAD = 28;
const AROUND = 8; // rows drawn beyond what is seen

// RowList draws the rows that are in view and no others, of however many.
// A list of other things than rows says what is at its head and in each line.
export function RowList({ store, at, n, q, read, open, box, head = <Names />, line = (row) => <Line row={row} q={q} />, none = "no row matches" }) {
	const [view, setView] = useState({ first: 0, last: 30 });
	const frame = useRef(0);
	void store.version.value;
	const look = () => {
		frame.current = 0;
		const el = box.current;
		if (!el) return;
		const first = Math.max(0, Math.floor(el.scrollTop / HEIGHT) - AROUND);
		const last = Math.min(Math.max(0, n - 1), Math.ceil((el.scrollTop + el.clientHeight) / HEIGHT) + AROUND);
		setView((was) => (was.first === first && was.last === last ? was : { first, last }));
	};
	useLayoutEffect(look, [n, store]);
	useLayoutEffect(() => {
		if (box.current) box.current.scrollTop = 0;
	}, [store]);
	useEffect(() => {
		const t = setTimeout(() => store.want(view.first, view.last), store.head.peek().matched === null ? 0 : 40);
		return () => clearTimeout(t);
	}, [store, view.first, view.last]);
	useEffect(() => {
		const resized = new ResizeObserver(look);
		resized.observe(box.current);
		return () => resized.disconnect();
	}, [n, store]);
	useLayoutEffect(() => keepInView(box.current, at), [at]);
	const rows = [];
	for (let i = view.first; i <= view.last && i < n; i++) rows.push(<Row key={i} i={i} n={n} row={store.row(i)} chosen={i === at} read={read} line={line} open={open} />);
	return (
		<div class="row-table">
			<div class="row-box" ref={box} tabIndex={0} role="listbox" aria-label={`Rows, ${int(n)}`} aria-activedescendant={n > 0 ? `row-${at}` : undefined} onScroll={() => (frame.current ||= requestAnimationFrame(look))}>
				<div class="row-head" aria-hidden="true">
					{head}
				</div>
				<div class="row-space" style={{ height: `${n * HEIGHT}px` }}>{rows}</div>
				{n === 0 && <p class="no-data">{store.head.value.loading ? "reading…" : none}</p>}
			</div>
		</div>
	);
}

function keepInView(el, i) {
	if (!el) return;
	const top = i * HEIGHT;
	const room = el.clientHeight - HEAD;
	if (top < el.scrollTop) el.scrollTop = top;
	else if (top + HEIGHT > el.scrollTop + room) el.scrollTop = top + HEIGHT - room;
}

function Row({ i, n, row, chosen, read, line, open }) {
	const place = { transform: `translateY(${i * HEIGHT}px)` };
	const classes = `row ${chosen ? "chosen" : ""} ${row && String(row.row) === read ? "read" : ""}`;
	if (!row) return <div id={`row-${i}`} class={`${classes} waiting`} style={place} role="option" aria-selected={chosen} aria-posinset={i + 1} aria-setsize={n} aria-label="not read yet" />;
	return (
		<div id={`row-${i}`} class={classes} style={place} role="option" aria-selected={chosen} aria-posinset={i + 1} aria-setsize={n} onClick={() => open(i)}>
			{line(row)}
		</div>
	);
}

function Names() {
	return <><span class="num c-row">row</span><span>id, and where it matches</span><span>status</span><span class="num c-org">served by</span><span class="num c-ms">latency</span><span class="num c-usd">cost</span></>;
}

function Line({ row, q }) {
	const stands = standing(row);
	return (
		<>
			<span class="num faint c-row">{int(row.row)}</span>
			<span class="c-id">
				<span class="id text">{row.id ?? `row ${row.row}`}</span>
				<span class="snippet text">{row.snippet ? <Marked text={row.snippet} q={q} /> : "\u00a0"}</span>
			</span>
			<span class={`status ${tone(stands)}`}>{stands}</span>
			<span class="num c-org">{row.attempts > 1 && <small title={`${row.attempts} attempts`}>{compact(row.attempts)}× </small>}{row.org ? <>{orgTitle(row.org)} <small>{row.tier}</small></> : "–"}</span>
			<span class="num c-ms">{row.latency_ms > 0 ? ms(row.latency_ms) : "–"}</span>
			<span class="num c-usd">{row.cost_usd == null ? "–" : usd(row.cost_usd)}</span>
		</>
	);
}

// Marked is text in which the words of a search stand out. It stays text.
export function Marked({ text, q }) {
	const words = searched(q);
	if (!words.length) return text;
	const lower = text.toLowerCase();
	if (lower.length !== text.length) return text; // folding moved the letters
	const out = [];
	let done = 0;
	for (let i = 0; i < text.length;) {
		const word = words.find((w) => lower.startsWith(w, i));
		if (!word) {
			i++;
			continue;
		}
		if (i > done) out.push(text.slice(done, i));
		out.push(<mark key={i}>{text.slice(i, i + word.length)}</mark>);
		done = i += word.length;
	}
	out.push(text.slice(done));
	return out;
}

// searched are the words of a search, or the phrases in quotes.
function searched(q) {
	const out = [];
	for (const m of (q ?? "").toLowerCase().matchAll(/"([^"]+)"|(\S+)/g)) out.push(m[1] ?? m[2]);
	return out.sort((a, b) => b.length - a.length);
}

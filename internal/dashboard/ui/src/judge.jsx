import { useRef } from "preact/hooks";
import { state } from "./live.js";
import { href, setQuery } from "./route.js";
import { segment } from "./api.js";
import { useFetched } from "./fetched.js";
import { int, percent, plural } from "./format.js";
import { active, State } from "./jobs.jsx";
import { One } from "./judge_one.jsx";
import { Groups } from "./judge_groups.jsx";
import { Pairs } from "./judge_pairs.jsx";
import { filters, JudgeRows } from "./judge_rows.jsx";

// Judge is what the judges of a job have said: how verdicts lie, by judge and by
// group, where judges differ, and the rows to read.
export function Judge({ job }) {
	const live = state.value?.jobs?.find((j) => j.key === job);
	const goesOn = live ? active(live) : false;
	const ready = useRef(false);
	const { data: page, error, loading } = useFetched(`api/jobs/${segment(job)}/judge`, ready.current ? (goesOn ? 3 : 60) : 1);
	ready.current = page?.ready ?? false;
	const rows = useRef(null);
	// choose shows the verdicts that a figure is of.
	const choose = (query) => {
		setQuery({ ...Object.fromEntries(filters.map((name) => [name, null])), q: null, row: null, ...query }, true);
		rows.current?.scrollIntoView({ block: "start" });
	};
	const open = (row) => {
		setQuery({ row }, true);
		rows.current?.scrollIntoView({ block: "start" });
	};
	return (
		<div class="page job judge">
			<header class="job-head">
				<div>
					<h1>Verdicts of <a class="mono" href={href("jobs", job)}>{job}</a> {live && <State j={live} />}</h1>
					{live && <p class="command mono text">{live.command}</p>}
				</div>
			</header>
			{!page && <p class={error ? "fault" : "faint"}>{loading ? "reading the journal…" : error}</p>}
			{page && <Standing page={page} error={error} />}
			{page?.summary?.judges?.map((j, i) => <One key={`${j.rubric}/${j.model}`} j={j} index={i} page={page} choose={choose} />)}
			{page?.summary && <Groups page={page} choose={choose} />}
			{page?.summary && <Pairs page={page} open={open} />}
			{page && !page.fault && <JudgeRows job={job} page={page} active={goesOn} box={rows} />}
		</div>
	);
}

// Standing says what the figures below are of, where they are not of everything.
function Standing({ page, error }) {
	const notes = [];
	if (page.fault) notes.push(`The verdicts cannot be read: ${page.fault}`);
	if (page.settled > page.read && !page.fault) notes.push(`${percent(page.read / page.settled)} of the answers have been read so far.`);
	if (page.summary && page.source === "run" && (page.fault || page.missing)) notes.push("The figures are those that the job's last run left.");
	if (page.missing) notes.push(`Names${page.by || page.label ? ", groups and labels" : ""} of rows are not known: ${page.missing}.`);
	if (page.groups_left_out) notes.push(`The field ${page.by} has ${int(page.groups_left_out)} values: too many to show as groups.`);
	if (error) notes.push(error);
	return (
		<div class="standing-of">
			<p>
				<b>{int(page.of)}</b> of {plural(page.calls, "verdict")}
				{page.of < page.settled && <span class="faint">; {int(page.settled)} are settled, and are summed up in turn</span>}
				{page.judges.length > 1 && <span class="faint">, by {int(page.judges.length)} judges</span>}
				{page.repeats > 1 && <span class="faint">, {int(page.repeats)} repeats each</span>}
				{page.swap && <span class="faint">, in both orders</span>}
			</p>
			{notes.map((n) => <p key={n} class="slow text">{n}</p>)}
			{!page.summary && !page.fault && <p class="no-data">{page.settled > 0 ? "reading the verdicts…" : "Nothing has been judged yet."}</p>}
		</div>
	);
}

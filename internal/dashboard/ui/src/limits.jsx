import { useFetched } from "./fetched.js";
import { now } from "./live.js";
import { int, moment, percent, span } from "./format.js";
import { orgTitle } from "./words.js";

// Limits is every limit of every org, with who says so.
export function Limits() {
	const { data, error } = useFetched("api/limits", 15);
	const rows = data?.rows ?? [];
	return (
		<section class="page" aria-labelledby="limits">
			<div class="section-head">
				<h1 id="limits">Limits</h1>
				{data && <Profile profile={data.profile} />}
			</div>
			{error && <p class="fault">The limits cannot be read: {error}</p>}
			<div class="scroll">
				<table class="limits">
					<thead><tr><th scope="col">org</th><th scope="col">pool, tier</th><th scope="col">limit</th><th scope="col" class="num c-value">value</th><th scope="col"><span class="unseen">unit</span></th><th scope="col">source</th><th scope="col">confidence</th><th scope="col" class="num">others use now</th><th scope="col">as of</th></tr></thead>
					<tbody>
						{rows.map((r, i) => <Limit key={i} r={r} before={rows[i - 1]} />)}
						{!rows.length && <tr><td colSpan={9} class="no-data">{data ? "No limit is known yet: they come with the first answers." : "no data yet"}</td></tr>}
					</tbody>
				</table>
			</div>
		</section>
	);
}

function Profile({ profile }) {
	if (!profile) return <p class="faint">Nothing was measured yet: flotilla measure</p>;
	return <p class={profile.stale ? "slow" : "faint"}>measured {moment(profile.made, now.peek())}, {span(profile.age_s)} ago{profile.stale ? ": too old to go by" : ""}</p>;
}

const names = { rpm: "requests", itpm: "input tokens", otpm: "output tokens", tpm: "tokens", tpd: "tokens a day", cap: "our cap", batch_queue: "batch queue", batch_rpm: "batch requests" };

const bounds = { ">=": "at least", "<=": "at most" };

function Limit({ r, before }) {
	const sameOrg = before?.org === r.org;
	const samePool = sameOrg && before?.pool === r.pool && before?.tier === r.tier;
	return (
		<tr class={samePool ? "same" : sameOrg ? "pool" : "org"}>
			<th scope={samePool ? undefined : "row"}>{sameOrg ? <span class="unseen">{r.org}</span> : orgTitle(r.org)}</th>
			<td><span class={samePool ? "unseen" : ""}>{r.pool} <small>{r.tier}</small></span></td>
			<td>{names[r.limit] ?? r.limit}</td>
			<td class="num c-value">{r.bound && <span class="faint">{bounds[r.bound] ?? r.bound} </span>}<b>{int(r.value)}</b>{r.provisional && <span class="faint" title="provisional: of one window alone, or an interval too wide"> (p)</span>}{r.low !== null && r.high > r.low && <small title="95 % interval"> {int(r.low)}–{int(r.high)}</small>}</td>
			<td class="faint">{r.unit}</td>
			<td class="text">{r.source}{r.also?.map((a, i) => <small key={i} class="also">{a.source}: {int(a.value)}</small>)}</td>
			<td>{typeof r.confidence === "number" ? percent(r.confidence) : r.confidence || "–"}</td>
			<td class="num">{r.others > 0 && r.value > 0 ? `~${percent(r.others / r.value)}` : r.others === 0 ? "nothing" : "–"}</td>
			<td class="faint nowrap">{moment(r.at, now.peek())}</td>
		</tr>
	);
}

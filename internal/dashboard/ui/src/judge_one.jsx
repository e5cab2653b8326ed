import { int, percent, plural } from "./format.js";
import { Histogram, Labels, Quantiles, Statuses } from "./judge_plot.jsx";
import { interval, plain, score, share } from "./judge_words.js";

// One is what one judge said: how its verdicts ended, beside every mean, and how
// they lie.
export function One({ j, index, page, choose }) {
	const c = j.total;
	const name = `${j.rubric} by ${j.model}`;
	const write = (v) => score(v, j.scale);
	const pick = (query) => choose({ judge: page.judges.length > 1 ? index : null, ...query });
	return (
		<section class="one" aria-labelledby={`judge-${index}`}>
			<h2 id={`judge-${index}`}><span class="text">{j.rubric}</span> <span class="faint">version {j.rubric_version}, by</span> <span class="text">{j.model}</span></h2>
			<div class="one-parts">
				<div class="one-mean">
					{c.mean ? (
						<p class="mean"><b>{write(c.mean.value)}</b> <span class="faint">mean{c.mean.low != null && <>, 95 % interval {interval(c.mean, write)}</>}</span></p>
					) : j.scale && <p class="mean"><b>–</b> <span class="faint">no mean: nothing is scored</span></p>}
					<p class="faint">{int(c.scored_rows)} of {plural(c.rows, "row")} scored{c.sd != null && <>, standard deviation {write(c.sd)}</>}</p>
					<Statuses counts={c.status} choose={(s) => pick({ status: s })} />
					{c.bounds && <p class="small-print slow">With every verdict that is no score at one end of the scale the mean would be {write(c.bounds[0])}, at the other {write(c.bounds[1])}.</p>}
					<Repeats r={j.repeats} write={write} />
					<Swap s={j.swap} write={write} />
				</div>
				<div class="one-shape">
					{j.scale && c.histogram && <Histogram cell={c} scale={j.scale} name={name} choose={(p) => pick({ low: p.from, ...(p.last ? { high: p.to } : { below: p.to }) })} />}
					{c.quantiles && <Quantiles q={c.quantiles} scale={j.scale} />}
					{!j.scale && c.labels?.length > 0 && <Labels labels={c.labels} choose={(l) => pick({ label: l })} />}
				</div>
			</div>
			<Agreement a={j.agreement} field={page.label} write={write} />
		</section>
	);
}

// Repeats is how far verdicts on one row differ.
function Repeats({ r, write }) {
	if (!r) return null;
	return (
		<p class="repeats">
			<b>Between repeats</b>{" "}
			{r.within_sd != null && <>a row's scores deviate by {write(r.within_sd)} (rows by {write(r.between_sd)}), {write(r.mean_range)} from least to most; </>}
			{r.agree != null && <>two labels of a row are the same in {percent(r.agree)} of cases; </>}
			all are equal in {int(r.equal)} of {plural(r.rows, "row")}.
		</p>
	);
}

// Swap is what the order of two completions does.
function Swap({ s, write }) {
	if (!s) return null;
	return (
		<p class="repeats">
			<b>In both orders</b> the same is preferred in {share(s.consistent)} of {plural(s.n, "pair")}{s.consistent?.low != null && <> ({interval(s.consistent, percent)})</>};{" "}
			the first place wins in {share(s.first_share)}{s.first_share?.low != null && <> ({interval(s.first_share, percent)})</>}, without a bias in 50&nbsp;%.{" "}
			Of {int(s.flipped)} that flip, {int(s.to_first)} go to the first place whichever stands there, {int(s.to_second)} to the second.
			{s.bias && <> The first place is worth {write(s.bias.value)} points.</>}
			{s.one_only > 0 && <> {int(s.one_only)} were scored in one order alone.</>}
		</p>
	);
}

// Agreement is how verdicts go with the rows' own labels.
function Agreement({ a, field, write }) {
	if (!a) return null;
	const facts = [
		["verdicts", int(a.n)],
		["not scored", int(a.unscored)],
		["rows without a label", a.unlabelled > 0 ? int(a.unlabelled) : null],
		["right", a.accuracy ? `${share(a.accuracy)} (${interval(a.accuracy, percent)})` : null],
		["kappa", a.kappa == null ? null : plain(a.kappa)],
		["weighted kappa", a.weighted_kappa == null ? null : plain(a.weighted_kappa)],
		["rank correlation", a.spearman == null ? null : plain(a.spearman)],
		[`AUC of ${a.positive}`, a.auc == null ? null : plain(a.auc)],
	].filter(([, v]) => v !== null);
	return (
		<div class="agreement">
			<h3>Against the rows' own label{field && <>, <span class="text">{field}</span></>}</h3>
			<dl class="facts">{facts.map(([name, v]) => <div key={name}><dt class="text">{name}</dt><dd>{v}</dd></div>)}</dl>
			{a.mapped?.length > 0 && <p class="faint small-print text">read as {a.mapped.join(", ")}</p>}
			{a.foreign_n > 0 && <p class="slow small-print text">{plural(a.foreign_n, "row")} with labels that the rubric does not have, left out: {a.foreign.join(", ")}</p>}
			{a.confusion && <Confusion c={a.confusion} down="label" over="verdict" />}
			{a.means?.length > 0 && (
				<div class="scroll"><table class="narrow">
					<thead><tr><th scope="col">label</th><th scope="col" class="num">scored</th><th scope="col" class="num">not</th><th scope="col" class="num">mean</th><th scope="col" class="num">95 % interval</th></tr></thead>
					<tbody>{a.means.map((m) => <tr key={m.group}><th scope="row" class="text">{m.group}</th><td class="num">{int(m.scored_rows)}</td><td class="num">{int(m.rows - m.scored_rows)}</td><td class="num"><b>{write(m.mean?.value)}</b></td><td class="num faint">{interval(m.mean, write)}</td></tr>)}</tbody>
				</table></div>
			)}
		</div>
	);
}

// Confusion is a table of labels against labels.
export function Confusion({ c, down, over }) {
	return (
		<div class="scroll"><table class="narrow confusion">
			<thead><tr><th scope="col">{down} ↓ {over} →</th>{c.labels.map((l) => <th key={l} scope="col" class="num text">{l}</th>)}</tr></thead>
			<tbody>{c.counts.map((row, i) => <tr key={i}><th scope="row" class="text">{c.labels[i]}</th>{row.map((n, k) => <td key={k} class={`num ${i === k ? "same" : ""}`}>{int(n)}</td>)}</tr>)}</tbody>
		</table></div>
	);
}

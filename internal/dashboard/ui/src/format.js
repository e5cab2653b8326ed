// How numbers read. A number that is not known is a dash, never a zero.

export const NONE = "–";

const whole = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const cents = new Intl.NumberFormat("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 2 });

const known = (n) => typeof n === "number" && Number.isFinite(n);

export function int(n) {
	return known(n) ? whole.format(n) : NONE;
}

// compact keeps three digits: 9,999 · 12.3 k · 1.2 M. The space does not break.
// Numbers below `from` are written out.
export function compact(n, from = 10000) {
	if (!known(n)) return NONE;
	const a = Math.abs(n);
	if (a < from) return whole.format(n);
	for (const [at, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
		if (a >= at * 0.9995) return `${three(n / at)}\u00a0${unit}`;
	}
	return whole.format(n);
}

function three(n) {
	const a = Math.abs(n);
	const digits = n.toFixed(a >= 99.95 ? 0 : a >= 9.995 ? 1 : 2);
	return digits.includes(".") ? digits.replace(/\.?0+$/, "") : digits;
}

// amount is the mean of a number of things.
export function amount(n) {
	return known(n) && n < 10 ? String(Number(n.toFixed(1))) : compact(n);
}

// rate is a number of something in a minute, with digits while it is small.
export function rate(n) {
	if (!known(n)) return NONE;
	return Math.abs(n) < 10 && n !== 0 ? String(Number(n.toFixed(1))) : compact(n);
}

// usd is dollars to the cent, and below a cent to two digits that say something.
export function usd(n) {
	if (!known(n)) return NONE;
	const a = Math.abs(n);
	const sign = n < 0 ? "−" : "";
	if (a === 0 || a >= 0.01) return `${sign}$${cents.format(a)}`;
	return a < 1e-6 ? `${sign}<$0.000001` : `${sign}$${a.toFixed(Math.min(8, 1 - Math.floor(Math.log10(a))))}`;
}

export function percent(x) {
	if (!known(x)) return NONE;
	const p = 100 * x;
	return `${p > 0 && p < 9.95 ? Number(p.toFixed(1)) : Math.round(p)}\u00a0%`;
}

// span is a duration, in seconds, for reading: 0.8 s · 42 s · 3.4 min · 2.1 h.
export function span(s) {
	if (!known(s)) return NONE;
	const a = Math.abs(s);
	if (a < 9.95) return `${s === 0 ? 0 : s.toFixed(1)}\u00a0s`;
	if (a < 99.5) return `${Math.round(s)}\u00a0s`;
	if (a < 5970) return `${(s / 60).toFixed(1)}\u00a0min`;
	if (a < 172800) return `${(s / 3600).toFixed(1)}\u00a0h`;
	return `${(s / 86400).toFixed(1)}\u00a0d`;
}

export function ms(n) {
	if (!known(n)) return NONE;
	return n < 1000 ? `${Math.round(n)}\u00a0ms` : span(n / 1000);
}

// countdown is for a clock that ticks: 0:09 · 12:30 · 1:02:03.
export function countdown(s) {
	const t = Math.max(0, Math.ceil(s));
	const two = (n) => String(n).padStart(2, "0");
	const [h, m, sec] = [Math.floor(t / 3600), Math.floor(t / 60) % 60, t % 60];
	return h ? `${h}:${two(m)}:${two(sec)}` : `${m}:${two(sec)}`;
}

// moment is a time of day, with its date where that is not today's.
export function moment(text, now) {
	const t = new Date(text ?? NaN);
	if (Number.isNaN(t.getTime())) return NONE;
	const time = t.toLocaleTimeString("en-GB");
	return t.toDateString() === new Date(now).toDateString() ? time : `${day(t)} ${time.slice(0, 5)}`;
}

export function day(t) {
	const two = (n) => String(n).padStart(2, "0");
	return `${t.getFullYear()}-${two(t.getMonth() + 1)}-${two(t.getDate())}`;
}

export function bytes(n) {
	if (!known(n)) return NONE;
	if (n < 1000) return `${n}\u00a0B`;
	return n < 1e6 ? `${three(n / 1e3)}\u00a0KB` : `${three(n / 1e6)}\u00a0MB`;
}

export function plural(n, one, many = `${one}s`) {
	return `${int(n)}\u00a0${n === 1 ? one : many}`;
}

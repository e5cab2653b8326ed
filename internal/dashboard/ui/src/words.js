// The words for limits and refusals: those of the program's own texts
// (job.LimitWords) and of Observation.Class.

const limits = {
	work: "nothing to send",
	cap: "our cap of calls per key",
	rpm: "requests/min",
	itpm: "input tokens/min",
	otpm: "output tokens/min",
	tpm: "tokens/min",
	tpd: "tokens a day",
	little: "its limits are met with fewer calls",
	ramp: "warming up",
	aimd: "backing off after refusals",
	overload: "Anthropic overloaded (529)",
	retry_after: "retry-after",
	retry_budget: "our retry budget",
	acceleration: "acceleration limit",
	concurrency: "concurrent connections",
	hidden: "a limit without a header",
	hard_floor: "our hard floor: the bucket is nearly empty",
	soft_floor: "our soft floor: the bucket is low",
	budget: "the cap on money",
	batch_queue: "batch queue",
	batch_rpm: "batch requests/min",
	latency: "the answers themselves",
};

// holds says what holds the next call of a lane back.
export function holds(lane) {
	if (lane.paused) return "paused by hand";
	if (lane.closed) return closedWords[lane.class] ?? lane.class ?? "closed";
	if (lane.waiting === "aimd" && lane.tier === "batch") return "our window of batches (it grows)";
	return limits[lane.waiting] ?? lane.waiting ?? "";
}

export const limitWords = (name) => limits[name] ?? name;

const closedWords = {
	steady: "its limits are used up",
	acceleration: "its use grew too fast",
	concurrency: "too many connections",
	daily: "its tokens of the day are used up",
	spend: "its spend limit is reached",
	auth: "its key is not accepted",
	permission: "its key may not do this",
	credit: "its credit is used up",
	hold: "the organisation is on hold",
	model: "it does not have the model",
	queue_full: "its batch queue is full",
	overloaded: "the provider is overloaded",
	server: "the provider answers with errors",
};

// mend are the classes that only a person ends: the time there is one of the
// next try, and nothing opens by itself.
const mend = new Set(["auth", "permission", "credit", "hold"]);

export const needsPerson = (cls) => mend.has(cls);

const classes = {
	succeeded: "answered",
	steady: "rate-limited",
	acceleration: "grew too fast",
	hidden: "hidden limit",
	concurrency: "connections",
	daily: "daily tokens",
	spend: "spend limit",
	queue_full: "queue full",
	overloaded: "overloaded",
	auth: "key refused",
	permission: "not permitted",
	credit: "no credit",
	hold: "on hold",
	invalid: "bad request",
	model: "no such model",
	server: "server error",
	conflict: "conflict",
	transport: "connection broke",
	canceled: "taken back",
	errored: "errored",
	expired: "expired",
};

export const classWords = (cls) => classes[cls] ?? cls ?? "";

// tone is the colour of an outcome: good, slow (it will be tried again), bad.
export function tone(cls) {
	if (cls === "succeeded") return "good";
	if (cls === "canceled" || cls === "pending") return "calm";
	return ["auth", "permission", "credit", "hold", "invalid", "model", "errored", "expired"].includes(cls) ? "bad" : "slow";
}

// standing is a row's status, and of an answer that is not whole why.
export function standing(row) {
	if (row.stop_reason === "max_tokens") return "truncated";
	if (row.stop_reason === "refusal") return "refused";
	return row.status;
}

export const orgTitle = (org) => (org === "batch" ? "org batch" : org);

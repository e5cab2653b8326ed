import { signal } from "@preact/signals";
import { get, segment } from "./api.js";

export const PAGE = 100;
const KEPT = 40; // pages, so that memory does not grow with scrolling

// RowStore is the rows of one job under one search, fetched by the page as they
// come into view.
export class RowStore {
	what = "rows"; // of the job

	constructor(job, q, status) {
		this.job = job;
		this.query = new URLSearchParams();
		if (q) this.query.set("q", q);
		if (status) this.query.set("status", status);
		this.pages = new Map(); // by number, least lately used first
		this.asked = new Map(); // AbortControllers of what is under way
		this.wanted = [0, 0];
		this.head = signal({ total: null, matched: null, took: null, searched: "", indexed: 1, error: "", loading: true });
		this.version = signal(0); // counts what changed in pages
	}

	// row is the i-th that matches; undefined: not here yet.
	row(i) {
		return this.pages.get(Math.floor(i / PAGE))?.[i % PAGE];
	}

	// want fetches the pages of the rows first to last, and gives up on others
	// that are under way.
	want(first, last) {
		this.wanted = [Math.floor(first / PAGE), Math.floor(last / PAGE)];
		const [a, b] = this.wanted;
		for (const [n, stop] of this.asked) {
			if (n >= a - 1 && n <= b + 1) continue;
			stop.abort();
			this.asked.delete(n);
		}
		for (let n = a; n <= b; n++) {
			const page = this.pages.get(n);
			if (!page) this.fetch(n);
			else this.touch(n, page);
		}
	}

	touch(n, page) {
		this.pages.delete(n);
		this.pages.set(n, page);
	}

	// refresh fetches what is in view anew, and forgets the rest.
	refresh() {
		const [a, b] = this.wanted;
		for (const n of [...this.pages.keys()]) if (n < a || n > b) this.pages.delete(n);
		for (let n = a; n <= b; n++) this.fetch(n);
	}

	async fetch(n) {
		if (this.asked.has(n)) return;
		const stop = new AbortController();
		this.asked.set(n, stop);
		const query = new URLSearchParams(this.query);
		query.set("offset", n * PAGE);
		query.set("limit", PAGE);
		try {
			const got = await get(`api/jobs/${segment(this.job)}/${this.what}?${query}`, stop.signal);
			this.touch(n, got.rows ?? []);
			for (const old of this.pages.keys()) {
				if (this.pages.size <= KEPT) break;
				if (old < this.wanted[0] || old > this.wanted[1]) this.pages.delete(old);
			}
			this.head.value = { total: got.total, matched: got.matched, took: got.took_ms, searched: got.searched ?? "", indexed: got.indexed ?? 1, error: "", loading: false };
			this.version.value++;
		} catch (err) {
			if (!stop.signal.aborted) this.head.value = { ...this.head.value, error: err.message, loading: false };
		} finally {
			if (this.asked.get(n) === stop) this.asked.delete(n);
		}
	}

	close() {
		for (const stop of this.asked.values()) stop.abort();
	}
}

// Package dashboard shows jobs and lanes in the browser, live or afterwards: a
// JSON API over a fleet's snapshots, its observations and the journal, and the
// pages that read it.
//
// It decides nothing and sends nothing to the provider. What it is not told
// stands as null, never as 0, so that a chart can leave a gap.
//
// # Times
//
// Times in the JSON are those of the machine's clock, also where an emulator's
// clock runs faster: the time that a lane reopens is the time at which a person
// sees it reopen. Latencies are the provider's.
//
// # Who may ask
//
// Requests must name a host that a page of another site cannot have made to
// point here (DNS rebinding), changes must come from a page of ours
// (http.CrossOriginProtection) or from a program, and nothing but our own files
// may run or be loaded in the pages. Keys are the business of what this is mounted
// in.
//
// # Known limitations
//
// The search index of a job is in memory and is made when somebody looks at the
// job's rows: of each row the first 64 KiB of prompt and of answer, 256 MiB in
// all. A job that nobody looked at for ten minutes loses its index.
//
// Verdicts of a job of judges are read from its answers when somebody looks, and
// its summary is made anew at most every twelfth part of the time while it runs.
// Groups by a field of more than 400 values are not told apart.
//
// Rates, series and recent calls are of this process alone, since it began; of
// jobs of other processes the journal tells rows and money.
package dashboard

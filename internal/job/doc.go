// Package job turns a file of requests into a file of results, once, however
// often it is interrupted.
//
// A job begins with one index pass over all its inputs: every row is read,
// checked, made into a body and hashed before anything is sent, and about 84
// bytes of it are kept. Compressed input, tables and standard input are spooled
// to an uncompressed file of JSON lines first, so that afterwards every row of
// every kind of input is a range of bytes in a file, and its body is made again
// when its call leaves.
//
// Calls are handed out from both ends: by sync from the near one, into batches
// from the far one, until they meet. A call in a batch of an earlier run is
// neither sent again nor in doubt: the fleet takes the batch over, or, where the
// key of the org that made it is not at hand, its calls stay out and the rest
// goes on. The first call of each (model, shape of body) is a canary: it goes
// alone and by sync, whatever the route, and only then others of its kind by
// either tier. Where no org takes sync calls it goes as a batch of one.
//
// The journal is the truth about what is settled; OUT follows it. A row's
// result is durable before its line is written, lines are matched to rows by
// id and never by position, and a run that finds an OUT checks it line by line
// before it adds what is missing.
//
// # Known limitations
//
// An input file that changes while its job runs stops the job: rows are read
// again by their place in the file, and a checksum kept from the index pass
// tells. Tables put nested values into cells as JSON text.
package job

// Runs every check, or those whose name matches the argument, a line each.

import './batches.mjs'; // the order is that of the checks
import './messages.mjs';
import './streams.mjs';
import './failures.mjs';
import { main } from './suite.mjs';

await main(process.argv[2]);

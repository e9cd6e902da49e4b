/**
 * Cost of reading chains as of hours: round trips and calls, counted at synthetic archives of 20 million blocks with a
 * known truth. Ends with 1 when a figure is not what is aimed at. `node test/bench/chain.ts [PART…]`
 */

import { listHours } from './chain/parts/lists.ts'
import { liveHours } from './chain/parts/live.ts'
import { hourOfLogs } from './chain/parts/logs.ts'
import { lookingUp } from './chain/parts/look-up.ts'
import { noCodeHours } from './chain/parts/no-code.ts'
import { peers } from './chain/parts/peers.ts'
import { yearBackfilled } from './chain/parts/year.ts'
import { figureHead, figureRow, isMet } from './figures.ts'

const parts = {
  'look-up': lookingUp,
  peers,
  live: liveHours,
  'no-code': noCodeHours,
  lists: listHours,
  logs: hourOfLogs,
  year: yearBackfilled,
}
const asked = process.argv.slice(2)

console.log(figureHead)
for (const [name, part] of Object.entries(parts)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  for await (const figure of part()) {
    console.log(figureRow(figure))
    if (isMet(figure) === false) process.exitCode = 1
  }
}

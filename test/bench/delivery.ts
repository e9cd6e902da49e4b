/**
 * Cost of the delivery of metrics: on disk, in time, in memory, against the bare limit and against others that buffer in
 * memory. Ends with 1 when a figure is not what is aimed at. `node test/bench/delivery.ts [PART…]`
 */
import { backlog } from './delivery/parts/backlog.ts'
import { fsyncs } from './delivery/parts/fsyncs.ts'
import { peers } from './delivery/parts/peers.ts'
import { pushing } from './delivery/parts/push.ts'
import { storing } from './delivery/parts/store.ts'
import { working } from './delivery/parts/work.ts'
import { figureHead, figureRow, isMet } from './figures.ts'

const parts = { store: storing, work: working, fsyncs, push: pushing, peers, backlog }
const asked = process.argv.slice(2)

console.log(figureHead)
for (const [name, part] of Object.entries(parts)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  for await (const figure of part()) {
    console.log(figureRow(figure))
    if (isMet(figure) === false) process.exitCode = 1
  }
}

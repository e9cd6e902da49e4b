/**
 * Cost of the delivery of metrics: on disk, in time, in memory, against the bare limit. Ends with 1 when a figure is not what is aimed at. `node test/bench/delivery.ts [PART…]`
 */
import { fsyncs } from './delivery/parts/fsyncs.ts'
import { storing } from './delivery/parts/store.ts'
import { figureHead, figureRow, isMet } from './figures.ts'

const parts = { store: storing, fsyncs }
const asked = process.argv.slice(2)

console.log(figureHead)
for (const [name, part] of Object.entries(parts)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  for await (const figure of part()) {
    console.log(figureRow(figure))
    if (isMet(figure) === false) process.exitCode = 1
  }
}

/**
 * A fleet on PostgreSQL: how soon another daemon takes over, and how much faster three daemons read a year than one. Ends
 * with 1 when a figure is not what is aimed at. `node test/bench/fleet.ts [takeover|backfill [HOURS]]`
 */
import { postgresPlace } from '../support/postgres/programs.ts'
import { PostgresServer } from '../support/postgres/server.ts'
import { figureHead, figureRow, isMet } from './figures.ts'
import { backfilling } from './fleet/backfill.ts'
import { takingOver } from './fleet/takeover.ts'

const [asked, hours = '8760'] = process.argv.slice(2)
const parts = { takeover: takingOver, backfill: (server: PostgresServer) => backfilling(server, Number(hours)) }

if (postgresPlace.kind === 'missing') throw new Error(postgresPlace.reason)
const server = await PostgresServer.started(postgresPlace.path)
try {
  console.log(figureHead)
  for (const [name, part] of Object.entries(parts)) {
    if (asked !== undefined && asked !== name) continue
    for await (const figure of part(server)) {
      console.log(figureRow(figure))
      if (isMet(figure) === false) process.exitCode = 1
    }
  }
} finally {
  await server.stop()
}

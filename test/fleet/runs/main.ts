import pg from 'pg'
import { pino } from 'pino'
import { silentLog } from '../../support/log.ts'
import { addressVariable } from './config.ts'
import { virtualClock, watchStatements } from './wire.ts'
import { FleetWorld, watchClaims } from './world.ts'

/**
 * Runs the fleets of every n-th seed in a process of its own: `node main.ts FIRST LAST N ADDRESS`, on a database of its
 * own. Each seed is said on stdout before it begins, each broken promise on stderr.
 */
const [first = 1, last = 1, step = 1] = process.argv.slice(2, 5).map(Number)
const address = process.argv[5] ?? ''
process.env[addressVariable] = address
const isTraced = process.env['TRACE'] !== undefined

watchStatements()
watchClaims()
await import('pg-boss')

for (let seed = first; seed <= last; seed += step) {
  console.log(`seed ${seed}`)
  const control = new pg.Client(address)
  control.on('error', () => {})
  await control.connect()
  await control.query(
    `DROP SCHEMA IF EXISTS tidegauge CASCADE; DROP SCHEMA IF EXISTS tidegauge_jobs CASCADE; ${virtualClock}`,
  )
  const broken: string[] = []
  const uncaught = (error: unknown) => void broken.push(`uncaught: ${error instanceof Error ? error.stack : error}`)
  process.once('unhandledRejection', uncaught)
  const tell = (line: string) => console.log(`${new Date(world.clock.nowMs()).toISOString().slice(11)} ${line.trim()}`)
  const log = isTraced ? pino({ level: 'debug', base: null, timestamp: false }, { write: tell }) : silentLog
  const world: FleetWorld = new FleetWorld(seed, address, control, log, isTraced ? tell : undefined)
  await world.run().then(found => broken.push(...found), uncaught)
  process.off('unhandledRejection', uncaught)
  await control.end()
  if (broken.length === 0) continue
  process.exitCode = 1
  console.error(`seed ${seed}: ${broken.length} broken\n  ${broken.slice(0, 10).join('\n  ')}`)
}
process.exit()

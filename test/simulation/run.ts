import { pino } from 'pino'
import { silentLog } from '../support/log.ts'
import { World } from './world.ts'

/** Runs the world of a seed from its first start to its last stop. @throws Error that says how to repeat it */
export async function runSeed(seed: number): Promise<void> {
  const lines: string[] = []
  const isTraced = process.env['TRACE'] !== undefined
  try {
    const world: World = isTraced
      ? new World(
          seed,
          traceLog(line => note(line)),
          line => note(line),
        )
      : new World(seed, silentLog)
    const note = (line: string) => lines.push(`${new Date(world.clock.nowMs()).toISOString()} ${line}`)
    const uncaught = (error: unknown) => world.facts.broken(`uncaught: ${error instanceof Error ? error.stack : error}`)
    process.once('unhandledRejection', uncaught)
    await world.run().finally(() => process.off('unhandledRejection', uncaught))
  } catch (error) {
    const what = error instanceof Error ? (error.name === 'Error' ? error.message : error.stack) : String(error)
    throw new Error(`seed ${seed}: ${what}\nrepeat it: SEED=${seed} TRACE=1 npx vitest run test/simulation`, {
      cause: error,
    })
  } finally {
    if (isTraced) console.log(lines.join('\n'))
  }
}

function traceLog(tell: (line: string) => void) {
  return pino({ level: 'debug', base: null, timestamp: false }, { write: (line: string) => tell(line.trim()) })
}

import { dice } from '../../src/devchain/dice.ts'
import { isPortFree } from '../demo/daemon.ts'

// Below the ports that the system gives to connections and to servers on port 0, of which other tests have many.
const [portMin, portMax] = [20_000, 32_000]
const { whole } = dice(process.pid)

/** A free port of loopback, for a program that needs a number. */
export async function freePort(): Promise<number> {
  const port = whole(portMin, portMax)
  return (await isPortFree(port)) ? port : freePort()
}

import { isPortFree } from '../demo/daemon.ts'
import { dice } from './dice.ts'

// Below the ports that the system gives to connections and to whoever listens on port 0, of which other tests have many.
const [portMin, portMax] = [20_000, 32_000]
const { whole } = dice(process.pid)

/** A port of loopback on which nobody listens, for a program that has to be told one. */
export async function freePort(): Promise<number> {
  const port = whole(portMin, portMax)
  return (await isPortFree(port)) ? port : freePort()
}

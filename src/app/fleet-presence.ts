import { Loop } from '../edge/loop.ts'
import type { Time } from '../edge/time.ts'
import { Fault } from '../model/fault.ts'
import type { Role, Roles } from '../outbox/contract/role.ts'

/** Interval at which a daemon of a fleet tries to be the one that commands see. */
const presenceMs = 5_000

/**
 * The role of the daemon in a fleet, for commands: while any daemon has it, they leave delivering to the daemons. Each
 * daemon tries to have it, and none waits for it.
 */
export class FleetPresence {
  readonly #roles: Pick<Roles, 'takeDaemon'>
  readonly #time: Pick<Time, 'nowMs' | 'sleep'>
  readonly #failed: (error: unknown) => void
  readonly #loop = new Loop(signal => this.#turn(signal))
  #role: Role | undefined

  /** @param failed called with errors of the outbox; it is tried again */
  constructor(roles: Pick<Roles, 'takeDaemon'>, time: Pick<Time, 'nowMs' | 'sleep'>, failed: (error: unknown) => void) {
    this.#roles = roles
    this.#time = time
    this.#failed = failed
    this.#loop.start()
  }

  async stop(): Promise<void> {
    await this.#loop.stop()
    this.#role?.release()
  }

  async #turn(signal: AbortSignal): Promise<void> {
    try {
      if (this.#role?.renew() === 'lost') {
        this.#role.release()
        this.#role = undefined
      }
      this.#role ??= await this.#roles.takeDaemon(this.#time.nowMs())
    } catch (error) {
      if (!(error instanceof Fault && error.code === 'outbox-held')) this.#failed(error)
    }
    await this.#time.sleep(presenceMs, signal).catch(() => {})
  }
}

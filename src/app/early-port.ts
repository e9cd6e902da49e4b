import type { Config } from '../config/config.ts'
import type { OpenPort } from '../edge/open-port.ts'
import { openEarly } from '../status/server/starting.ts'

/** The status server's port while a daemon starts. The daemon takes it; if none does, it is closed when disposed of. */
export class EarlyPort implements AsyncDisposable {
  #port: OpenPort | undefined

  private constructor(port: OpenPort | undefined) {
    this.#port = port
  }

  /** Opens it where that is possible; errors are the status server's to report. */
  static async open(config: Pick<Config, 'status'>): Promise<EarlyPort> {
    return new EarlyPort(await openEarly(config.status))
  }

  take(): OpenPort | undefined {
    const port = this.#port
    this.#port = undefined
    return port
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.take()?.stop()
  }
}

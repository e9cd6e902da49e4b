import type { ServiceClient } from '../../../src/edge/service-client.ts'
import type { Answer } from '../../../src/model/verdict.ts'
import type { Push, Registration } from '../../../src/model/wire.ts'
import { accepted, answered } from './answers.ts'

export type Sent = Push['metrics'][number]

/** One request to push, as it arrived. */
export interface Pushed {
  readonly key: string
  readonly metrics: readonly Sent[]
  readonly protocolIds: readonly string[]
  readonly stop: AbortSignal
}

/** A service by a rule, without a network; it writes down what it was asked. */
export class MemoryService implements ServiceClient {
  readonly host = 'metrics.example'
  readonly pushes: Pushed[] = []
  readonly checkedKeys: string[] = []
  readonly registered: Registration[] = []
  /** Its answer to a push; `undefined`: it takes it. */
  rule: (pushed: Pushed) => Answer | Promise<Answer> | undefined = () => undefined
  keyAnswer: (key: string) => Answer = () => answered(200)

  async push(body: string, key: string, stop: AbortSignal): Promise<Answer> {
    const { metrics } = JSON.parse(body) as Push
    const pushed = { key, metrics, protocolIds: [...new Set(metrics.map(({ protocolId }) => protocolId))], stop }
    this.pushes.push(pushed)
    return (await this.rule(pushed)) ?? accepted(metrics.length)
  }

  async validateKey(key: string): Promise<Answer> {
    this.checkedKeys.push(key)
    return this.keyAnswer(key)
  }

  async register(registration: Registration): Promise<Answer> {
    this.registered.push(registration)
    return answered(200)
  }

  async validateProtocol(): Promise<Answer> {
    return answered(200)
  }

  async widget(): Promise<[]> {
    return []
  }

  async close(): Promise<void> {}
}

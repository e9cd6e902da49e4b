import { type Connection, connect, deliveriesTo } from '../../app.ts'
import type { Delivery } from '../../delivery/delivery.ts'
import { Fault } from '../../model/fault.ts'
import { batchMetricsMax, pollMs } from '../../model/limits.ts'
import { type DeliveryRole, takeDeliveryRole } from '../../outbox/lock.ts'
import type { Outbox } from '../../outbox/outbox.ts'
import type { Surroundings } from '../../surroundings.ts'
import type { Time } from '../../time.ts'
import { deliverNow } from '../flush.ts'
import { note } from '../terminal.ts'

/** How what a backfill collects gets to the service. */
export interface BackfillDelivery {
  /** `own`: this process pushes beside collecting. `daemon`: another process has the role. */
  readonly by: 'own' | 'daemon'
  /** Pushes of this process so far, each try counted. */
  readonly pushes: number
  /** Pushes what is left, or waits a while for the daemon to. Complete when it returns. */
  finish(): Promise<void>
}

/** Takes the delivery role, or sees who has it; what it opens ends with the stack. */
export async function startDelivery(
  surroundings: Surroundings,
  outbox: Outbox,
  stack: AsyncDisposableStack,
): Promise<BackfillDelivery> {
  const role = roleOrHolder(surroundings)
  if (!role) return { by: 'daemon', pushes: 0, finish: () => deliverNow(surroundings, outbox) }
  stack.defer(() => role.release())
  await outbox.disk.keepBallast()
  return startOwn(surroundings, outbox, await connect(surroundings, stack), stack)
}

/** While hours come in only full batches are pushed: a push costs the service as much for one metric as for a hundred. */
function startOwn(
  surroundings: Surroundings,
  outbox: Outbox,
  connection: Connection,
  stack: AsyncDisposableStack,
): BackfillDelivery {
  let pushes = 0
  const { client } = connection
  const counting: typeof client = {
    ...client,
    push: (...push) => {
      pushes += 1
      return client.push(...push)
    },
  }
  let fewest = batchMetricsMax
  const deliveries = deliveriesTo({ ...connection, client: counting }, outbox, surroundings, () => fewest)
  const [finishing, stopping] = [new AbortController(), new AbortController()]
  const pushing = deliveries.map(delivery =>
    pushUntil(delivery, finishing.signal, stopping.signal, outbox, surroundings.time),
  )
  stack.defer(async () => {
    stopping.abort(stopped)
    finishing.abort(stopped)
    await Promise.all(pushing)
  })
  return {
    by: 'own',
    get pushes() {
      return pushes
    },
    async finish() {
      finishing.abort(stopped)
      await Promise.all(pushing)
      fewest = 1
      await Promise.all(deliveries.map(delivery => delivery.flush('asked', stopping.signal)))
      for (const reason of outbox.destinations.waiting()) note(`delivery to the service waits: ${reason}`)
    },
  }
}

const stopped = new Fault('stopped', 'the backfill has ended')

/** Flush after flush; what is under way when it is to finish is not broken off. Never rejects. */
async function pushUntil(
  delivery: Delivery,
  finishing: AbortSignal,
  stopping: AbortSignal,
  { disk }: Outbox,
  time: Time,
): Promise<void> {
  while (!finishing.aborted) {
    await delivery.flush('due', stopping).catch(error => disk.saw(error))
    await time.sleep(pollMs, finishing).catch(() => {})
  }
}

/** The role; `undefined` when another process has it, which is said. */
function roleOrHolder({ config, time }: Surroundings): DeliveryRole | undefined {
  try {
    return takeDeliveryRole(config.data, config.file, time.nowMs())
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== 'outbox-held') throw error
    const { pid = 'unknown', config: file = 'unknown' } = error.facts
    note(`the running daemon (pid ${pid}, configuration ${file}) delivers`)
    return undefined
  }
}

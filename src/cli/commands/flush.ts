import type { Command } from 'commander'
import { openOutbox } from '../../app/open-outbox.ts'
import { strandedSentence } from '../../status/sentences.ts'
import { type ConfigOption, configuredCommand } from '../configured-command.ts'
import { deliverNow, waitingText } from '../delivery.ts'
import { endIncomplete } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { openedByClock } from '../require-clock.ts'
import { note, print } from '../terminal.ts'

/** `flush`: pushes the due metrics now. Ends with 1 when a metric stays due, or is refused. */
export function flushCommand(): Command {
  return configuredCommand('flush')
    .description('push what is due, now')
    .action(async (options: ConfigOption) => {
      await using stack = new AsyncDisposableStack()
      const { context, outbox: existing } = await openedByClock(openContext(options.config), stack)
      const outbox = existing ?? (await openOutbox(context, stack))
      const { balance: balanceBefore } = await outbox.operators.backlog()
      await deliverNow(context, outbox)
      const backlog = await outbox.operators.backlog()
      const balanceAfter = backlog.balance
      const deadCount = balanceAfter.dead - balanceBefore.dead
      const stranded = strandedSentence(context.config.protocols, backlog.byProtocol)
      if (stranded !== undefined) note(stranded)
      print(
        `${balanceAfter.delivered - balanceBefore.delivered} delivered, ${balanceAfter.due} due${waitingText({ dead: deadCount, held: 0 })}`,
      )
      if (balanceAfter.due > 0 || deadCount > 0) endIncomplete()
    })
}

import { Command } from 'commander'
import type { AppContext } from '../../app/context.ts'
import { Fault } from '../../model/fault.ts'
import { hourAt, hourText } from '../../model/hour.ts'
import type { Notice } from '../../reports/notify/incidents.ts'
import { type NoticeReceiver, receiverOf } from '../../reports/notify/receivers.ts'
import { ReceiverLog, sendReport } from '../../reports/send-report.ts'
import { Counters } from '../../telemetry/counters.ts'
import { type ConfigOption, configuredCommand, type JsonOption } from '../configured-command.ts'
import { endIncomplete } from '../exit.ts'
import { openContext } from '../open-context.ts'
import { print, printJson } from '../terminal.ts'

/** `notify test`: sends each receiver of alerts a message, once. Ends with 1 when one does not accept it. */
export function notifyCommand(): Command {
  const test = configuredCommand('test')
    .description('send each receiver under notify: a message, and say what it answers')
    .option('--json', 'print JSON')
    .action(async ({ config, json }: ConfigOption & JsonOption) => {
      const context = openContext(config)
      const receivers = context.config.notify.map(one => receiverOf(one, found => context.redactor.add(found)))
      if (receivers.length === 0)
        throw new Fault('usage', 'no receiver is configured', { fix: 'add one under notify:' })
      const results = await Promise.all(receivers.map(receiver => tried(receiver, context)))
      if (json) printJson({ receivers: results })
      for (const { receiver, failing, fix } of json ? [] : results) {
        print(failing === undefined ? `✔ ${receiver}: accepted` : `✖ ${receiver}: ${failing}${fix ? ` → ${fix}` : ''}`)
      }
      if (results.some(({ failing }) => failing !== undefined)) endIncomplete()
    })
  return new Command('notify').description('the receivers of alerts').addCommand(test)
}

async function tried(receiver: NoticeReceiver, context: AppContext) {
  const { time, log, redactor } = context
  const { name } = receiver
  const counters = new Counters()
  const notice = testNotice(time.nowMs())
  const post = () => receiver.post(notice)
  // A secret that cannot be read says itself what to do.
  let fix: string | undefined
  const judge: NoticeReceiver['judge'] = (answer, nowMs) => {
    if (answer.kind === 'answered')
      fix = `check its ${name.startsWith('telegram') ? 'token and chat' : 'address'} under notify:`
    else fix = answer.fix ?? 'check its address, and the network from here to it'
    return receiver.judge(answer, nowMs)
  }
  const stop = new AbortController().signal
  const once = { time, receiver: new ReceiverLog(name, log, counters), redactor, stop, attemptsMax: 1 }
  await sendReport({ post, judge }, once)
  const failing = counters.reports.get(name)?.failing
  return { receiver: name, ok: failing === undefined, ...(failing !== undefined && { failing, ...(fix && { fix }) }) }
}

/** Over, and of a kind of its own: a receiver that opens and closes incidents does neither. */
function testNotice(nowMs: number): Notice {
  const words = { what: 'This is a test by tidegauge notify test.', why: 'A person asked for it.', do: 'nothing' }
  return { trouble: 'test', state: 'over', hour: hourText(hourAt(nowMs)), ...words, items: [words] }
}

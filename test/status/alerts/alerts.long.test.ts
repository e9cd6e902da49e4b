import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hourAfter, hourText } from '../../../src/model/hour.ts'
import { hourMs } from '../../../src/model/limits.ts'
import { exposition } from '../../../src/status/exposition/exposition.ts'
import { familyText, fleetFamilies, readyFamily } from '../../../src/status/exposition/families.ts'
import type { FleetDifference, FleetState } from '../../../src/status/fleet.ts'
import type { HttpPush, Reply } from '../../delivery/support/http-service.ts'
import { temporaryFolder } from '../../support/folder.ts'
import { promtool, promtoolPlace } from '../../support/promtool.ts'
import { mayMount, smallDisk } from '../../support/small-disk.ts'
import { repetitions, sampleOf } from '../../support/soak.ts'
import { type AlertStory, type Phase, promtoolTests } from './promtool-tests.ts'
import { alerts, rulesFile } from './rules.ts'
import { type Staging, stagedExposition, stagedHour } from './staged-daemon.ts'

/** A trouble of a running daemon: how it is made, the lines of the exposition that show it, and the alert that tells of it. */
interface Trouble {
  readonly alert: string
  readonly staging: Staging
  readonly shows: readonly RegExp[]
}

const refusing = (answer: (push: HttpPush) => Reply | undefined): Pick<Staging, 'service'> => ({
  service: service => {
    service.rule = answer
    const reply = answer({ key: '', metrics: [] })
    if (reply !== undefined) service.keyReply = () => reply
  },
})
const always = (status: number) => refusing(() => ({ status, body: { error: 'no' } }))
const ofPool =
  (status: number) =>
  ({ metrics }: HttpPush) =>
    metrics.some(({ protocolId }) => protocolId === 'pool') ? { status, body: { error: 'no' } } : undefined

const gate = (state: string) => new RegExp(`^tidegauge_delivery_gate\\{[^}]*state="${state}"\\} 1$`, 'm')
const outbox = (state: string, count: number) =>
  new RegExp(`^tidegauge_outbox_metrics\\{state="${state}"\\} ${count}$`, 'm')
const overdue = (code: string) => new RegExp(`^tidegauge_overdue_collections\\{[^}]*code="${code}"\\} 1$`, 'm')
const delivered = (count: number) => new RegExp(`^tidegauge_metrics_delivered_total ${count}$`, 'm')
const isBelieved = /^tidegauge_clock_believed 1$/m
const unready = /^tidegauge_ready 0$/m
const poolIsDelivered = [delivered(1), outbox('due', 0)]

const troubles: Readonly<Record<string, Trouble>> = {
  'the service is down': { alert: 'TidegaugeServiceDown', staging: always(503), shows: [gate('unavailable'), unready] },
  'the address is another program’s': {
    alert: 'TidegaugeServiceDown',
    staging: always(302),
    shows: [gate('misdirected'), unready],
  },
  'the service rejects everything': {
    alert: 'TidegaugeServiceDown',
    staging: refusing(({ metrics }) => (metrics.length > 0 ? { status: 400, body: { error: 'no' } } : undefined)),
    shows: [gate('rejecting'), unready],
  },
  'the key is refused': { alert: 'TidegaugeKeyRefused', staging: always(401), shows: [gate('key-refused'), unready] },
  'the key is empty': { alert: 'TidegaugeKeyRefused', staging: { key: '' }, shows: [gate('key-missing'), unready] },
  'a node is dead': {
    alert: 'TidegaugeNodeDown',
    staging: { node: { isDead: true } },
    shows: [overdue('chain-unreachable'), ...poolIsDelivered],
  },
  'a node lags': {
    alert: 'TidegaugeNodeLagging',
    staging: { lagMs: 2 * hourMs },
    shows: [overdue('chain-behind'), ...poolIsDelivered],
  },
  'a node is pruned': {
    alert: 'TidegaugeNodePruned',
    staging: { node: { isPruned: true } },
    shows: [overdue('chain-state-missing'), ...poolIsDelivered],
  },
  'a node serves another chain': {
    alert: 'TidegaugeNodeWrongChain',
    staging: { node: { chainId: 5 } },
    shows: [/^tidegauge_endpoint_state\{[^}]*state="wrong-id"\} 1$/m, overdue('chain-wrong-id'), ...poolIsDelivered],
  },
  'a node is contradicted': {
    alert: 'TidegaugeNodeQuarantined',
    staging: { isContradicted: true },
    shows: [/^tidegauge_endpoint_state\{[^}]*state="quarantine"\} 1$/m, delivered(2), outbox('due', 0)],
  },
  'the clock is wrong': {
    alert: 'TidegaugeClockWrong',
    staging: { clockAheadMs: 3 * hourMs },
    shows: [/^tidegauge_clock_believed 0$/m, unready],
  },
  'a metric is poisoned': {
    alert: 'TidegaugeMetricDead',
    staging: refusing(ofPool(400)),
    shows: [outbox('dead', 1), gate('open'), ...poolIsDelivered],
  },
  'a value is implausible': {
    alert: 'TidegaugeMetricHeld',
    staging: { level: '500' },
    shows: [outbox('held', 1), ...poolIsDelivered],
  },
  'hours are gaps': {
    alert: 'TidegaugeGap',
    staging: { since: hourText(hourAfter(stagedHour, -5)) },
    shows: [/^tidegauge_collections\{[^}]*state="gap",code="hour-too-old"\} 3$/m, delivered(4), outbox('due', 0)],
  },
  'a collector fails': {
    alert: 'TidegaugeCollectorFailing',
    staging: { level: "(() => { throw new Error('no') })()" },
    shows: [overdue('collector-threw'), ...poolIsDelivered],
  },
  'a configuration is refused': {
    alert: 'TidegaugeConfigRefused',
    staging: { also: reloads => reloads.refused('a mistake', stagedHour) },
    shows: [/^tidegauge_config_last_reload_successful 0$/m, delivered(2)],
  },
  'a protocol is not registered': {
    alert: 'TidegaugeNotReady',
    staging: refusing(ofPool(404)),
    shows: [delivered(1), outbox('due', 1), gate('open'), unready],
  },
}

const story = (name: string, phases: readonly Phase[], fired: readonly string[], left = fired): AlertStory => ({
  name,
  phases,
  fired,
  left,
})

const daemonOfFleet = { version: '1', configuration: '', lanes: [], delivers: [], startedAtMs: 0, seenAtMs: 0 }
const fleetOfOne: FleetState = { daemons: [], troubles: [], idleLanes: [], differences: [], differing: [] }

const healthy: Staging = {}
const isHealthy = [delivered(2), outbox('due', 0), /^tidegauge_ready 1$/m]

describe.skipIf(promtoolPlace.kind === 'missing')('the alerts, on what a real daemon exposes', () => {
  const shown = new Map<string, string>()
  const at = (name: string) => shown.get(name) ?? expect.fail(`there is no exposition of: ${name}`)
  const expose = async (name: string, staging: Staging, shows: readonly RegExp[]) =>
    void shown.set(name, await stagedExposition(staging, text => shows.every(pattern => pattern.test(text))))
  const day = async (minutes = 60): Promise<Phase> => {
    if (!shown.has('all is well')) await expose('all is well', healthy, isHealthy)
    return { text: at('all is well'), minutes }
  }
  const fires = (stories: readonly AlertStory[]) => {
    const file = join(temporaryFolder(), 'tests.yaml')
    writeFileSync(file, promtoolTests(rulesFile, stories))
    promtool(['test', 'rules', file])
  }

  it('are well-formed', () => {
    expect(promtool(['check', 'rules', rulesFile])).toContain(`SUCCESS: ${alerts.length} rules found`)
  })

  it('say nothing while all is well', async () => {
    const whole = await day(repetitions({ test: 3 * 60, soak: 24 * 60 }))
    expect(at('all is well')).not.toContain('a-key-that-stays-here')
    expect(at('all is well')).toMatch(/^tidegauge_metric_value\{protocol="pool",metric="Level",unit="m"\} 5$/m)
    fires([story('a day', [whole], [])])
  })

  it('say nothing of a restart, nor of a catch-up', async () => {
    const pastDue = { since: hourText(hourAfter(stagedHour, -2)) }
    await expose('a start', pastDue, [])
    fires([story('a restart', [await day(), { minutes: 2 }, { text: at('a start'), minutes: 5 }, await day()], [])])
    await expose('a catch-up', pastDue, [isBelieved])
    fires([
      story('a catch-up', [await day(), { minutes: 2 }, { text: at('a catch-up'), minutes: 14 }, await day()], []),
    ])
  })

  it.each(sampleOf(Object.entries(troubles), 3))(
    'when %s, one fires and no other, until it is over',
    async (name, trouble) => {
      const { alert, staging, shows } = trouble
      const clock = alert === 'TidegaugeClockWrong' ? [] : [isBelieved]
      await expose(name, staging, [...shows, ...clock])
      const during = [await day(), { text: at(name), minutes: 60 }]
      fires([story(name, during, [alert]), story(`${name}, and it is over`, [...during, await day()], [alert], [])])
    },
  )

  it.skipIf(!mayMount)('when the disk is full, one fires and no other', async () => {
    const dataFolder = smallDisk(20).folder
    await expose('disk', { dataFolder }, [/^tidegauge_disk_full 1$/m, isBelieved, unready])
    fires([
      story('a full disk', [await day(), { text: at('disk'), minutes: 60 }, await day()], ['TidegaugeDiskFull'], []),
    ])
  })

  it('when hours are gaps for want of old state, the node is named, and they are not', async () => {
    const name = 'hours are gaps'
    if (!shown.has(name)) await expose(name, troubles[name]?.staging ?? {}, troubles[name]?.shows ?? [])
    const text = at(name).replaceAll('hour-too-old', 'chain-state-missing')
    fires([story('pruned gaps', [await day(), { text, minutes: 60 }, await day()], ['TidegaugeNodePruned'], [])])
  })

  it('when the daemon is down, one fires and no other', async () => {
    fires([story('down', [await day(), { minutes: 30 }, await day()], ['TidegaugeDown'], [])])
  })

  it('when a daemon of a fleet is down, one fires that says whether another one is there', async () => {
    const { text = '' } = await day()
    const fleetText = (...names: readonly (readonly [name: string, isAway: boolean])[]) => {
      const daemons = names.map(([name, isAway]) => ({
        ...daemonOfFleet,
        name,
        ...(isAway && { isAway: true as const }),
      }))
      return text + exposition(fleetFamilies({ fleet: { ...fleetOfOne, daemons } }))
    }
    const both = fleetText(['eu-1', false], ['eu-2', false])
    const calm = { text: both, other: both, minutes: 60 }
    const alone = { other: fleetText(['eu-1', true], ['eu-2', false]), minutes: 60 }
    fires([
      story('one of two', [calm, alone, calm], ['TidegaugeFleetDaemonDown'], []),
      story('both', [calm, { minutes: 60 }], ['TidegaugeDown']),
      story(
        'one apart from a fleet',
        [
          { ...calm, text },
          { other: both, minutes: 60 },
        ],
        ['TidegaugeDown'],
      ),
    ])
  })

  it('when it waits for its outbox, it is not ready', async () => {
    const text = familyText(readyFamily(false))
    fires([story('waiting', [await day(), { text, minutes: 60 }, await day()], ['TidegaugeNotReady'], [])])
  })

  it('when a daemon of a fleet differs, one fires and no other: another one where that makes it red', async () => {
    const calm = await day()
    const { text = '' } = calm
    const red = text.replace(/^tidegauge_ready 1$/m, 'tidegauge_ready 0')
    const differing = (kind: FleetDifference['kind']) =>
      exposition(fleetFamilies({ fleet: { ...fleetOfOne, differing: [{ kind, reason: 'r', fix: 'f' }] } }))
    const during = (shown: string, minutes = 60) => [calm, { text: shown, minutes }, calm]
    fires([
      story('another definition', during(text + differing('definition')), ['TidegaugeFleetDiffers'], []),
      story('an upgrade of one after the other', during(text + differing('version'), 15), [], []),
      story('another service', during(red + differing('service')), ['TidegaugeFleetService'], []),
      story('another service, at the others', during(text + differing('service')), [], []),
      story(
        'and a trouble of its own',
        during(red + differing('clock')),
        ['TidegaugeFleetDiffers', 'TidegaugeNotReady'],
        [],
      ),
    ])
  })

  it('all have a trouble here', () => {
    const ofFleet = ['TidegaugeFleetDaemonDown', 'TidegaugeFleetService', 'TidegaugeFleetDiffers']
    const others = ['TidegaugeDiskFull', 'TidegaugeDown', ...ofFleet]
    const tried = [...Object.values(troubles).map(({ alert }) => alert), ...others]
    expect(alerts.map(({ alert }) => alert).filter(alert => !tried.includes(alert))).toEqual([])
  })
})

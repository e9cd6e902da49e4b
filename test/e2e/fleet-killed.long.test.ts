import { describe, expect, it } from 'vitest'
import { dice } from '../../src/devchain/dice.ts'
import { systemTime } from '../../src/edge/time.ts'
import { claimedHoursMax } from '../../src/fleet/lane-claims.ts'
import { hourAfter, hourAt, hourNumber, hoursFrom, hourText } from '../../src/model/hour.ts'
import { batchMetricsMax } from '../../src/model/limits.ts'
import { useTestDatabases } from '../support/postgres/databases.ts'
import { postgresPlace } from '../support/postgres/programs.ts'
import { startDaemon } from '../support/tidegauge.ts'
import { fleetScene, startFleet } from './fleet-scene.ts'

/** Counts from now on each claim of an hour that its daemon loses; those that were lost before are in the jobs, none of which is done. */
const countLost = `
  CREATE TABLE lost (claims integer);
  INSERT INTO lost SELECT retry_count FROM tidegauge_jobs.job WHERE name LIKE 'collect/%';
  CREATE FUNCTION note_lost() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN INSERT INTO public.lost VALUES (1); RETURN NULL; END';
  CREATE TRIGGER note_lost AFTER INSERT OR UPDATE ON tidegauge_jobs.job
    FOR EACH ROW WHEN (NEW.state = 'retry' AND NEW.name LIKE 'collect/%') EXECUTE FUNCTION note_lost()`

const kills = 12
const names = Array.from({ length: 10 }, (_, index) => `eu-${index}`)

describe.skipIf(postgresPlace.kind === 'missing')(
  'a fleet of ten daemons, of which one after another is killed',
  () => {
    const databases = useTestDatabases({ max_connections: '200' })

    it('misses no hour of two days, and reads an hour again only where its claim was lost or its read had no answer', async () => {
      const world = await fleetScene()
      const current = hourAt(systemTime.nowMs())
      const expected = hoursFrom(hourAfter(current, -47), current)
      const open = world.hold()
      const { daemons, configs, env, name } = await startFleet(databases, world, hourAfter(current, -47), names)
      await world.until(() => world.reads.length >= 2 * claimedHoursMax)
      await databases.server.query(countLost, [], name)
      const chance = dice(1)
      for (let kill = 0; kill < kills; kill += 1) {
        const place = chance.whole(0, daemons.length - 1)
        // The death may fall into any moment of what follows from an answer.
        world.answer(claimedHoursMax)
        await daemons[place]?.kill('SIGKILL')
        daemons[place] = await startDaemon(configs[place] ?? '', env)
      }
      open()
      // Another hour may begin meanwhile.
      await world.until(() => expected.every(hour => world.sent.has(hourText(hour))))
      for (const hour of expected) expect([...(world.sent.get(hourText(hour)) ?? [])]).toEqual([hourNumber(hour)])
      const again = world.reads.filter(hour => hour <= current).length - expected.length
      expect(again).toBeGreaterThan(0)
      // A claim is lost by a death, or by a daemon that was late; on a busy machine a read waits for longer than a run has time.
      const [lost] = await databases.server.query('SELECT sum(claims)::int AS claims FROM lost', [], name)
      expect(again).toBeLessThanOrEqual(Number(lost?.['claims']) + world.unanswered.size)
      const fullPushes = Math.ceil(expected.length / batchMetricsMax)
      expect(world.pushedAtMs.length).toBeLessThanOrEqual(fullPushes + 2 * kills + expected.length + 1)
      for (const daemon of daemons) expect(await daemon.kill('SIGTERM')).toBe(0)
    })
  },
)

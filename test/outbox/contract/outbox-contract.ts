import { describe } from 'vitest'
import { decidingContract } from './deciding.ts'
import { deliveringContract } from './delivering.ts'
import { derivedHoursContract } from './derived-hours.ts'
import { destinationsContract } from './destinations.ts'
import { dueHoursContract } from './due-hours.ts'
import { healthContract } from './health.ts'
import { historiesContract } from './histories.ts'
import { listsContract } from './lists.ts'
import { lookingContract } from './looking.ts'
import { modelContract } from './model.ts'
import { pastsContract } from './pasts.ts'
import { pinsContract } from './pins.ts'
import type { NewPlace } from './place.ts'
import { planningContract } from './planning.ts'
import { recordingContract } from './recording.ts'
import { reportsContract } from './reports.ts'
import { statusContract } from './status.ts'
import { textsContract } from './texts.ts'
import { twoProcessesContract } from './two-processes.ts'
import { upkeepContract } from './upkeep.ts'
import { verdictsContract } from './verdicts.ts'

/**
 * Promises of every outbox, through its ports alone. It assumes nothing of the store: answers may take any time, and
 * other processes may write meanwhile.
 *
 * @param newPlace makes an empty place for each test
 * @param soakRuns cases of each property in a soak
 */
export function outboxContract(name: string, newPlace: NewPlace, soakRuns: number): void {
  describe(`an outbox in ${name}`, () => {
    planningContract(newPlace)
    dueHoursContract(newPlace)
    recordingContract(newPlace)
    derivedHoursContract(newPlace)
    pastsContract(newPlace)
    pinsContract(newPlace)
    deliveringContract(newPlace)
    verdictsContract(newPlace, soakRuns)
    destinationsContract(newPlace)
    decidingContract(newPlace)
    historiesContract(newPlace)
    lookingContract(newPlace)
    statusContract(newPlace)
    reportsContract(newPlace)
    listsContract(newPlace)
    upkeepContract(newPlace)
    healthContract(newPlace)
    textsContract(newPlace, soakRuns)
    twoProcessesContract(newPlace)
    modelContract(newPlace, soakRuns)
  })
}

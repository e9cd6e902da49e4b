import { readyFamily } from '../exposition/daemon.ts'
import { familyText } from '../exposition/text.ts'

/** Text of `/metrics` while there is no outbox to read. */
export const notReadyExposition = familyText(readyFamily(false))

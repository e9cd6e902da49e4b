import type { Notice, ReportedTrouble } from './trouble.ts'

const titles: Readonly<Record<ReportedTrouble, string>> = {
  'not-delivered': 'not delivered',
  'key-refused': 'key refused',
  dead: 'metrics refused for good',
  held: 'metrics held',
  gap: 'hours lost',
  'not-ready': 'not ready',
}

/** A notice as plain text for a chat. At most about 3,200 characters, which fit into one message of Telegram. */
export function noticeText({ trouble, state, hour, what, why, do: instruction }: Notice): string {
  const mark = state === 'begin' ? '🔴' : '🟢'
  const title = `${mark} Tidegauge: ${titles[trouble]}${state === 'over' ? ', over' : ''} (${hour})`
  if (state === 'over') return [title, why, what].join('\n')
  return [title, what, ...(why === '' ? [] : [`Why: ${why}`]), `Do: ${instruction}`].join('\n')
}

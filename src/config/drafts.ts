import type { CollectorConfig } from './config.ts'
import type { Place } from './mistakes/mistakes.ts'
import { ownIdOf } from './schema/forms.ts'

type DraftPlaceOf = (path: readonly PropertyKey[], at?: 'key' | 'value') => Place

/**
 * The collectors of a file with mistakes that are written well enough to check their options, so that all mistakes are
 * reported at once.
 */
export function draftsIn(written: unknown, placeOf: DraftPlaceOf): CollectorConfig[] {
  return listIn(written, 'protocols').flatMap((protocol, index) =>
    listIn(protocol, 'collectors').flatMap((collector, at): CollectorConfig[] => {
      const path = ['protocols', index, 'collectors', at]
      const [use, options = {}] = [partOf(collector, 'use'), partOf(collector, 'options')]
      if (typeof use !== 'string' || use.trim() === '' || typeof options !== 'object' || options === null) return []
      const [protocolId, own] = [partOf(protocol, 'id'), partOf(collector, 'id')].map(id =>
        typeof id === 'string' ? id : '',
      )
      return [
        {
          id: `${protocolId || path[1]}/${own || ownIdOf(use)}`,
          protocolId: protocolId ?? '',
          use,
          options,
          place: placeOf(path),
          placeOf: (inner, which) => placeOf([...path, 'options', ...inner], which),
        },
      ]
    }),
  )
}

function partOf(map: unknown, key: string): unknown {
  return typeof map === 'object' && map !== null ? Reflect.get(map, key) : undefined
}

function listIn(map: unknown, key: string): readonly unknown[] {
  const list = partOf(map, key)
  return Array.isArray(list) ? list : []
}

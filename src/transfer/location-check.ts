// Where the nodes of lines may go: into the part of a composite graph into which a capture would put them. What an export
// says of the global graph is of proxies, which only the service writes.

import { compositeLocationMessage, unknownLocationMessage } from '../config/db-connection.ts'
import { constituentFolderName } from '../store/tenancy/project-folders.ts'
import type { GraphLayout } from '../store/tenancy/project-graphs.ts'
import { LineError } from './line-fields.ts'

export class LocationCheck {
  private readonly layout: GraphLayout
  private readonly part: string

  /** `part`: the path below the folder of the project. */
  constructor(layout: GraphLayout, part: string) {
    this.layout = layout
    this.part = part
  }

  /** Throws LineFault. */
  check(location: string | undefined, isExport: boolean): void {
    const { layout, part } = this
    if (part === 'global' && !isExport) throw new LineError('node', compositeLocationMessage('`global`'))
    if (location === undefined) {
      if (part === 'default' || isExport) return
      throw new LineError('node.location', 'expected a string, found nothing: without one it is kept in `default`')
    }
    const constituent = layout.locations.get(location)
    if (constituent === undefined)
      throw new LineError('node.location', unknownLocationMessage(location, layout.isComposite))
    if (constituent === 'global') throw new LineError('node.location', compositeLocationMessage(location))
    const home = constituentFolderName(constituent)
    if (home !== part && part !== 'global') throw new LineError('node.location', `${location} is kept in \`${home}\``)
  }
}

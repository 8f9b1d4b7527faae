export { PendingScreen as VersionsTab } from '../pending/PendingScreen.js'

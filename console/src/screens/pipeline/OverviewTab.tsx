export { PendingScreen as OverviewTab } from '../pending/PendingScreen.js'

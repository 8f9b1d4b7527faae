-- Who answers for a configuration: people and programs by the API, or files that "vitrina apply" brings. What files
-- answer for is not changed by the way: the next apply would undo it.
-- Compatible: older programs ignore the column, and write 'api' by its default.

ALTER TABLE etl.etl_pipelines ADD COLUMN managed_by text NOT NULL DEFAULT 'api' CHECK (managed_by IN ('api', 'file'));

set -e
cd /tmp/w18
V=/work/main/.venv
export PATH=$V/bin:$PATH
[ -d build ] || cmake -S . -B build -G Ninja -DCMAKE_BUILD_TYPE=Release -Dnanobind_DIR=$($V/bin/python -m nanobind --cmake_dir) -DPython_EXECUTABLE=$V/bin/python -DSKBUILD=2 > /dev/null
cmake --build build 2>&1 | grep -E "error|warning:|note:|FAILED" || true
cp build/_core*.so src/tritree/
